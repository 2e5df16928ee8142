import { LoggiaError } from "../../../errors.ts";

const QUOTED = String.raw`"(?:[^"\\]|\\[abfnrtvxuU0-7'"\\])*"`;
const BARE = '[^\\s={}",`]+';
const PAIR = new RegExp(`\\s*(${BARE}|${QUOTED})\\s*=\\s*(${QUOTED}|\`[^\`]*\`)\\s*(,|(?=\\}))`, "y");
/** Matches a label whose value is not escaped: it ends with a quote before the next label. */
const UNESCAPED = new RegExp(`(${BARE})="(.*?)"(?:, (?=${BARE}=")|\\}$)`, "sy");
/** Matches the beginning of another label within an unescaped value. Such a value is ambiguous. */
const LABEL = new RegExp(`"\\s*${BARE}\\s*="`);
const MAX_UNITS = 64 * 1024;

type Labels = Map<string, string>;

/**
 * Parses the labels of a stream, written as `{app="shop",level="error"}`.
 * @throws LoggiaError `bad_body`
 */
export function parseLabels(text: string): ReadonlyMap<string, string> {
  const trimmed = text.trim();
  if (trimmed === "") return new Map();
  if (!trimmed.startsWith("{") || !trimmed.endsWith("}") || trimmed.length > MAX_UNITS) throw malformed(text);
  const labels = parseQuoted(trimmed) ?? parseUnescaped(trimmed);
  if (labels === null) throw malformed(text);
  return labels;
}

function parseQuoted(text: string): Labels | null {
  const labels: Labels = new Map();
  PAIR.lastIndex = 1;
  const end = text.slice(0, -1).trimEnd().length;
  while (PAIR.lastIndex < end) {
    const [, name, value = ""] = PAIR.exec(text) ?? [];
    if (name === undefined) return null;
    labels.set(
      name.startsWith('"') ? unquote(name) : name,
      value.startsWith("`") ? value.slice(1, -1) : unquote(value),
    );
  }
  return labels;
}

/** Parses labels as Vector writes them: sorted, separated by a comma and a blank, and unescaped. */
function parseUnescaped(text: string): Labels | null {
  const labels: Labels = new Map();
  for (UNESCAPED.lastIndex = 1; UNESCAPED.lastIndex < text.length;) {
    const [, name, value = ""] = UNESCAPED.exec(text) ?? [];
    if (name === undefined || LABEL.test(value)) return null;
    labels.set(name, value);
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
