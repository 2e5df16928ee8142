import { clauseText, textWithCondition, textWithoutClauses } from "../query/clauses.ts";
import type { DetailValue, ValueAction } from "./details.ts";

/** Quotes a text as an LQL string. */
export function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const PLAIN_ATTRIBUTE = /^@[\p{L}\p{M}\p{N}_$](?:[\p{L}\p{M}\p{N}_$.-]*[\p{L}\p{M}\p{N}_$])?$/u;

/** Returns a field as LQL; unusual attribute names are quoted. */
export function fieldInLql(field: string): string {
  return !field.startsWith("@") || PLAIN_ATTRIBUTE.test(field) ? field : `@${quotedText(field.slice(1))}`;
}

const OPERATORS: Readonly<Partial<Record<ValueAction, string>>> = { only: "=", not: "!=", above: ">=", below: "<=" };

/** Returns the condition that an action on a value adds to a query; null if none. */
export function conditionFor(action: ValueAction, field: string, { value }: DetailValue): string | null {
  const operator = OPERATORS[action];
  if (operator === undefined || value === null) return null;
  // LQL reads exponents too.
  return `${fieldInLql(field)} ${operator} ${typeof value === "number" ? String(value) : quotedText(value)}`;
}

/** Applies an action on a value to a query; null if the action changes none. */
export function queryAfter(query: string, action: ValueAction, field: string, value: DetailValue): string | null {
  if (action === "group") return groupedBy(query, fieldInLql(field));
  const condition = conditionFor(action, field, value);
  return condition === null ? null : textWithCondition(query, condition);
}

/** Groups a query's events by a field, or removes that grouping if it is present. */
function groupedBy(query: string, field: string): string {
  const present = clauseText(query, "groupBy");
  const plain = textWithoutClauses(query, ["groupBy", "having", "compare", "fill", "columns", "sort", "take", "skip"]);
  if (present !== null && present.toLowerCase().endsWith(` ${field.toLowerCase()}`)) return plain;
  return `${plain} GROUPBY ${field} SORT COUNT DESC`;
}
