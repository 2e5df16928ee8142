import type { LoggiaError } from "../errors.ts";
import { FIELD_NAMES } from "../events/field-order.ts";
import { attributeNote, didYouMean, oneOf, queryFault } from "./fault.ts";
import { USER_FIELDS, isAttribute } from "./plan.ts";
import type { Name } from "./syntax.ts";

/** Returns "The fields of events are …". */
export function fieldsSentence(table: "events" | "users"): string {
  const names = table === "events" ? FIELD_NAMES : USER_FIELDS;
  return `The fields of ${table} are ${oneOf(names).replace(/ or (\w+)$/, " and $1")}.`;
}

/** Returns the fault of a name that is not a field of the table. */
export function unknownField(
  text: string,
  table: "events" | "users",
  name: Name,
  candidates: readonly string[],
): LoggiaError {
  if (isAttribute(name.text)) return queryFault(text, name.span, `${table} have no attributes`, fieldsSentence(table));
  const what = `${table} have no field "${name.text}"`;
  const fields = table === "events" ? `${fieldsSentence(table)} ${attributeNote(name.text)}` : fieldsSentence(table);
  return queryFault(text, name.span, what, didYouMean(name.text, candidates) ?? fields);
}
