import { isAscii } from "node:buffer";

/** A character beyond ASCII that was decoded. */
const DECODED = /[\u0080-\ufffc\ufffe\uffff]/;
const REPLACEMENT = "\ufffd";

/**
 * Decodes a message. Each sequence that is not UTF-8 becomes U+FFFD, as does a character that is
 * cut at the end. A message without any character of UTF-8 beyond ASCII is Latin-1.
 * @param isCut whether the message was cut, at any byte
 */
export function messageText(bytes: Buffer, isCut = false): string {
  const text = bytes.toString("utf8");
  if (!text.includes(REPLACEMENT)) return text;
  const isDecoded = DECODED.test(text) || bytes.includes(REPLACEMENT);
  return isDecoded || endsWithCut(bytes, isCut ? 1 : 2) ? text : bytes.toString("latin1");
}

/** Returns whether a text is ASCII with `least` or more bytes of an incomplete character at its end. */
function endsWithCut(bytes: Buffer, least: number): boolean {
  let lead = bytes.length - 1;
  while (lead > 0 && bytes.length - lead < 3 && isContinuation(bytes[lead]!)) lead -= 1;
  const first = bytes[lead];
  if (first === undefined || first < 0xc2 || first > 0xf4) return false;
  const needed = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const cut_bytes = bytes.length - lead;
  return cut_bytes >= least && cut_bytes < needed && isAscii(bytes.subarray(0, lead));
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
