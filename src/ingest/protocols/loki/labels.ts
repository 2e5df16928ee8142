import { LoggiaError } from "../../../errors.ts";

const PAIR = /\s*([a-zA-Z_][a-zA-Z0-9_.]*)\s*=\s*("(?:[^"\\]|\\.)*"|`[^`]*`)\s*(,|(?=\}))/y;
const MAX_UNITS = 64 * 1024;

/**
 * The labels of a stream, written as `{app="shop",level="error"}`.
 * @throws LoggiaError `bad_body`
 */
export function parseLabels(text: string): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  const trimmed = text.trim();
  if (trimmed === "") return labels;
  if (!trimmed.startsWith("{") || !trimmed.endsWith("}") || trimmed.length > MAX_UNITS) throw wrong(text);
  PAIR.lastIndex = 1;
  const end = trimmed.length - 1;
  while (PAIR.lastIndex < end && trimmed.slice(PAIR.lastIndex, end).trim() !== "") {
    const [, name, value = ""] = PAIR.exec(trimmed) ?? [];
    if (name === undefined) throw wrong(text);
    labels.set(name, value.startsWith("`") ? value.slice(1, -1) : unquote(value));
  }
  return labels;
}

const ESCAPED = /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))/gs;
const LETTERS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v" };

/** A text as Go quotes it. */
function unquote(quoted: string): string {
  return quoted.slice(1, -1).replaceAll(ESCAPED, (_, unit?: string, byte?: string, letter?: string) => {
    const code = unit ?? byte;
    return code === undefined ? (LETTERS[letter!] ?? letter!) : String.fromCharCode(parseInt(code, 16));
  });
}

function wrong(text: string): LoggiaError {
  return new LoggiaError("bad_body", `These are no labels: ${text.slice(0, 100)}`);
}
