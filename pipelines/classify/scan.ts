import { fold } from "../../src/events/text.ts";

/**
 * A text to search, folded or as one byte per UTF-16 unit, each computed on first use. One scan is
 * reused for all texts to avoid allocations. Writing bytes takes less time than folding, and
 * reading them less than reading characters.
 */
export type TextScan = {
  text: string;
  /** Null until first used; likewise `length` is -1 until the bytes are written. */
  folded: string | null;
  length: number;
  /**
   * Whether the bytes are those of the unfolded text, all ASCII; otherwise they are the lower
   * halves of the folded text's units.
   */
  isAscii: boolean;
  bytes: Buffer;
  view: DataView;
  /** Has room for one number per byte. */
  marks: Int32Array;
};

const SIZE = 1_024;
/**
 * Extra bytes beyond the text's length. A text that is not ASCII takes more bytes than units, and a
 * character of up to four bytes that does not fit is omitted.
 */
const MARGIN = 4;

export function createScan(): TextScan {
  return { text: "", folded: null, length: -1, isAscii: false, ...allocate(SIZE) };
}

function allocate(size: number): Pick<TextScan, "bytes" | "view" | "marks"> {
  const bytes = Buffer.allocUnsafeSlow(size);
  return { bytes, view: new DataView(bytes.buffer), marks: new Int32Array(size) };
}

/** Sets the text to search. */
export function setText(scan: TextScan, text: string): void {
  scan.text = text;
  scan.folded = null;
  scan.length = -1;
  scan.isAscii = false;
}

export function foldedText(scan: TextScan): string {
  return (scan.folded ??= scan.isAscii ? scan.text.toLowerCase() : fold(scan.text));
}

/** Writes the bytes unless they are written already. */
export function encode(scan: TextScan): void {
  if (scan.length >= 0) return;
  const { text } = scan;
  if (text.length + MARGIN > scan.bytes.length) Object.assign(scan, allocate(2 * (text.length + MARGIN)));
  scan.length = text.length;
  scan.isAscii = scan.bytes.write(text, "utf8") === text.length;
  if (!scan.isAscii) scan.length = scan.bytes.write(foldedText(scan), "latin1");
}
