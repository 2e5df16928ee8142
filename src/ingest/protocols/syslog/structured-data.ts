import { add } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";

/** Element whose parameter holds an API key, with or without an enterprise number. */
const OWN = /^loggia(?:@\d{1,20})?$/;
const KEYS: ReadonlySet<string> = new Set(["key", "apikey"]);
const NAME = /[^\s=\]"]{1,200}/y;
/** Maximum number of parameters kept. */
const MOST = 1_024;

/**
 * Parses structured data into attributes `<element>.<parameter>`. Returns its end; -1 if it is
 * malformed.
 * @param onKey called with an API key, which does not become an attribute
 */
export function readStructuredData(
  line: string,
  start: number,
  attributes: MutableAttributes,
  onKey: (key: string) => void,
): number {
  if (line[start] === "-") return start + 1 === line.length || line[start + 1] === " " ? start + 1 : -1;
  let at = start;
  while (line[at] === "[") {
    const id = nameAt(line, at + 1);
    if (id === "") return -1;
    at += 1 + id.length;
    const isOwn = OWN.test(id);
    while (line[at] === " ") {
      while (line[at] === " ") at += 1;
      if (line[at] === "]") break;
      const name = nameAt(line, at);
      at += name.length;
      if (name === "" || line[at] !== "=" || line[at + 1] !== '"') return -1;
      const end = endOfValue(line, at + 2);
      if (end === -1) return -1;
      const value = unescaped(line.slice(at + 2, end));
      if (isOwn && KEYS.has(name)) onKey(value);
      else if (attributes.size < MOST) add(attributes, `${id}.${name}`, value);
      at = end + 1;
    }
    if (line[at] !== "]") return -1;
    at += 1;
  }
  return at > start && (at === line.length || line[at] === " ") ? at : -1;
}

function nameAt(line: string, at: number): string {
  NAME.lastIndex = at;
  return NAME.exec(line)?.[0] ?? "";
}

/** Returns the position of the closing quote; -1 if there is none. */
function endOfValue(line: string, start: number): number {
  for (let at = start; at < line.length; at++) {
    if (line[at] === '"') return at;
    if (line[at] === "\\") at += 1;
  }
  return -1;
}

/** Resolves escapes. A backslash before any other character is kept. */
function unescaped(value: string): string {
  return value.includes("\\") ? value.replaceAll(/\\(["\\\]])/g, "$1") : value;
}
