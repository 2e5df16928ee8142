import { LoggiaError } from "../../../errors.ts";

const PAIR = /\s*([a-zA-Z_][a-zA-Z0-9_.]*)\s*=\s*("(?:[^"\\]|\\.)*"|`[^`]*`)\s*(,|(?=\}))/y;
const MAX_UNITS = 64 * 1024;

/**
 * Parses the labels of a stream, written as `{app="shop",level="error"}`.
 * @throws LoggiaError `bad_body`
 */
export function parseLabels(text: string): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  const trimmed = text.trim();
  if (trimmed === "") return labels;
  if (!trimmed.startsWith("{") || !trimmed.endsWith("}") || trimmed.length > MAX_UNITS) throw malformed(text);
  PAIR.lastIndex = 1;
  const end = trimmed.length - 1;
  while (PAIR.lastIndex < end && trimmed.slice(PAIR.lastIndex, end).trim() !== "") {
    const [, name, value = ""] = PAIR.exec(trimmed) ?? [];
    if (name === undefined) throw malformed(text);
    labels.set(name, value.startsWith("`") ? value.slice(1, -1) : unquote(value));
  }
  return labels;
}

const ESCAPED = /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-7]{3})|(.))/gs;
const LAST_CODE = 0x10ffff;
const NO_CODE = 0xfffd;
const LETTERS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v" };

/** Decodes a text quoted as in Go. */
function unquote(quoted: string): string {
  return quoted.slice(1, -1).replaceAll(ESCAPED, (_, unit?: string, code?: string, ...more: (string | undefined)[]) => {
    const [byte, octal, letter] = more;
    if (letter !== undefined) return LETTERS[letter] ?? letter;
    const value = octal === undefined ? parseInt(unit ?? code ?? byte!, 16) : parseInt(octal, 8);
    return String.fromCodePoint(value > LAST_CODE ? NO_CODE : value);
  });
}

function malformed(text: string): LoggiaError {
  return new LoggiaError("bad_body", `The labels are malformed: ${text.slice(0, 100)}`);
}
