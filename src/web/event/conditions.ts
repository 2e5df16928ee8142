import { clauseOf, withCondition, withoutClauses } from "../list/question.ts";
import type { FactValue, ValueAct } from "./facts.ts";

/** A text in quotes, as a query holds it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const PLAIN_ATTRIBUTE = /^@[\p{L}\p{M}\p{N}_$](?:[\p{L}\p{M}\p{N}_$.-]*[\p{L}\p{M}\p{N}_$])?$/u;

/** A field as a query names it: attributes with odd names stand in quotes. */
export function fieldInLql(field: string): string {
  return !field.startsWith("@") || PLAIN_ATTRIBUTE.test(field) ? field : `@${quoted(field.slice(1))}`;
}

const OPERATORS: Readonly<Partial<Record<ValueAct, string>>> = { only: "=", not: "!=", above: ">=", below: "<=" };

/** The condition that an act on a value adds to a query; null where it adds none. */
export function conditionFor(act: ValueAct, field: string, { value }: FactValue): string | null {
  const operator = OPERATORS[act];
  if (operator === undefined || value === null) return null;
  // A number is written in full: exponents are read, and say the same.
  return `${fieldInLql(field)} ${operator} ${typeof value === "number" ? String(value) : quoted(value)}`;
}

/** A query changed as an act on a value says; null where the act changes none. */
export function queryAfter(query: string, act: ValueAct, field: string, value: FactValue): string | null {
  if (act === "group") return groupedBy(query, fieldInLql(field));
  const condition = conditionFor(act, field, value);
  return condition === null ? null : withCondition(query, condition);
}

/** The query with its events grouped by a field, or no more where they are already. */
function groupedBy(query: string, field: string): string {
  const present = clauseOf(query, "groupBy");
  const plain = withoutClauses(query, ["groupBy", "having", "compare", "fill", "columns", "sort", "take", "skip"]);
  if (present !== null && present.toLowerCase().endsWith(` ${field.toLowerCase()}`)) return plain;
  return `${plain} GROUPBY ${field} SORT COUNT DESC`;
}
