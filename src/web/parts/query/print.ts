import { canonical } from "../../../query/fields.ts";
import { writeAttribute } from "../../../query/lexer.ts";
import { isAttribute } from "../../../query/plan.ts";

/** LQL fragments as written. Fields have canonical names: `tags`, `@odd name`. */

const NUMBER = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/i;
/** Numbers that are compared as numbers even when quoted, so that quotes are unnecessary. */
const PLAIN_NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,6})?$/;

export function writeField(field: string): string {
  if (isAttribute(field)) return writeAttribute(field.slice(1));
  return field === "tags" ? "tag" : field;
}

export function writeString(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Writes a value, given as text, in the form that the field is compared with. */
export function writeValue(field: string, value: string): string {
  const isNumber = field === "value" ? NUMBER.test(value) : isAttribute(field) && isPlainNumber(value);
  return isNumber ? value : writeString(value);
}

export function isPlainNumber(text: string): boolean {
  return PLAIN_NUMBER.test(text);
}

/** Returns the page's name of a field: `tags` for `tag`, `class` for `filter`. */
export function fieldName(written: string): string {
  if (isAttribute(written)) return written;
  const name = canonical(written);
  return name === "filter" ? "class" : name;
}
