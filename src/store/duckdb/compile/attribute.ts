import { DOUBLE } from "@duckdb/node-api";

import { parseNumber } from "../../../events/attributes.ts";
import { fold } from "../../../events/text.ts";
import type { AttributeField, Comparison, ConditionField, Direction } from "../../../query/plan.ts";
import { plainText } from "../database/attributes.ts";
import type { ColumnKind } from "../database/attributes.ts";
import { directed, unknown } from "./binder.ts";
import type { Binder } from "./binder.ts";
import { toRe2 } from "./regexp.ts";
import { ATTRIBUTE_COLUMN } from "../database/schema.ts";

export type TextComparison<Field extends string = ConditionField> = Extract<
  Comparison<Field>,
  { kind: "text" | "in" | "contains" | "matches" }
>;
type NumberComparison = Extract<Comparison, { kind: "number" }>;

/**
 * SQL for the values of an attribute: its columns, as a double and as an ASCII text, and a list of
 * the others. Each is NULL for events without such values, and null if no event has any. An event
 * has values in only one of them.
 */
export type Values = {
  readonly number: string | null;
  readonly text: string | null;
  readonly others: string | null;
};

/** See `Other` of attributes.ts. */
const SHAPE = `'[{"n":"VARCHAR","t":"VARCHAR","f":"VARCHAR","d":"DOUBLE"}]'`;

/** Returns the values outside of columns, of all attributes of an event. */
export function attributeEntriesSql(others: string): string {
  return `from_json(${others}, ${SHAPE})`;
}

/** Returns the same with the names alone, `n`, in a third of the time. */
export function namedEntriesSql(others: string): string {
  return `from_json(${others}, '[{"n":"VARCHAR"}]')`;
}

export function compileAttributeValues(field: AttributeField, bind: Binder): Values {
  return {
    ...compileAttributeColumns(field, bind),
    others: mayHaveOthers(field, bind) ? othersOf(field, null, bind) : null,
  };
}

/** Returns the values in columns. */
export function compileAttributeColumns(field: AttributeField, bind: Binder): Omit<Values, "others"> {
  return { number: columnOf("number", field, bind), text: columnOf("text", field, bind) };
}

/** Returns the column of an attribute. In some logs the column may belong to another attribute. */
function columnOf(kind: ColumnKind, field: AttributeField, bind: Binder): string | null {
  const columns = new Map<number, number[]>();
  for (const log of bind.logs) {
    const column = bind.schema.attributes.locationOf(log, nameOf(field))[kind];
    if (column !== null) columns.set(column, [...(columns.get(column) ?? []), log]);
  }
  const [only] = columns;
  if (only === undefined) return null;
  if (only[1].length === bind.logs.length) return `${ATTRIBUTE_COLUMN}${only[0]}`;
  const cases = Array.from(
    columns,
    ([column, logs]) => `when log_number in (${logs.join(", ")}) then ${ATTRIBUTE_COLUMN}${column}`,
  );
  return `case ${cases.join(" ")} end`;
}

function mayHaveOthers(field: AttributeField, bind: Binder): boolean {
  return bind.logs.some((log) => bind.schema.attributes.locationOf(log, nameOf(field)).others);
}

/** Returns the values outside of columns, if there are any. @param test a filter; null: all */
function othersOf(field: AttributeField, test: ((one: string) => string) | null, bind: Binder): string {
  const isNamed = mentions(field, bind);
  const tested = test === null ? "" : ` and ${test("one")}`;
  const list = `list_filter(${attributeEntriesSql("others")}, lambda one: one.n = ${bind.text(nameOf(field))}${tested})`;
  return `case when ${isNamed} then ${list} end`;
}

/** Returns whether an event has values of an attribute outside of columns; never NULL. */
export function hasOthers(field: AttributeField, bind: Binder): string {
  return `(others is not null and ${mentions(field, bind)})`;
}

/**
 * Returns whether the others contain an attribute. No value contains the text searched for, as
 * quotes in values are escaped.
 */
function mentions(field: AttributeField, bind: Binder): string {
  return `contains(others, ${bind.text(`{"n":${JSON.stringify(nameOf(field))},`)})`;
}

function nameOf(field: AttributeField): string {
  return field.slice(1);
}

/** Returns the text of one of the others. */
export const otherText = (one: string): string => `coalesce(${one}.t, ${plainText(`${one}.d`)})`;
const otherFolded = (one: string): string => `coalesce(${one}.f, ${one}.t, ${plainText(`${one}.d`)})`;

type Tests = {
  /** null if no number passes. */
  readonly number: ((number: string) => string) | null;
  readonly text: ((text: string) => string) | null;
  readonly other: (one: string) => string;
};

/** Returns whether any value passes its test; never NULL. */
function some(field: AttributeField, tests: Tests, bind: Binder): string {
  const alternatives: string[] = [];
  for (const kind of ["number", "text"] as const) {
    const [column, test] = [columnOf(kind, field, bind), tests[kind]];
    if (column !== null && test !== null) alternatives.push(`(${column} is not null and ${test(column)})`);
  }
  if (mayHaveOthers(field, bind)) {
    alternatives.push(`coalesce(len(${othersOf(field, tests.other, bind)}) > 0, false)`);
  }
  return alternatives.length === 0 ? "false" : `(${alternatives.join(" or ")})`;
}

export function attributeNumber(field: AttributeField, { op, value }: NumberComparison, bind: Binder): string {
  const parameter = bind.add(value, DOUBLE);
  const test = (number: string): string => `${number} ${op} ${parameter}`;
  return some(field, { number: test, text: null, other: (one) => test(`${one}.d`) }, bind);
}

export function attributeAbsent(field: AttributeField, bind: Binder): string {
  return `not ${some(field, { number: () => "true", text: () => "true", other: () => "true" }, bind)}`;
}

export function attributeText(field: AttributeField, where: TextComparison, bind: Binder): string {
  switch (where.kind) {
    case "text": {
      const parameter = bind.text(where.value);
      const test = (folded: string): string => `${folded} ${where.op} ${parameter}`;
      return someFolded(field, test, where.op !== "=" || parseNumber(where.value) !== null, bind);
    }
    case "in": {
      if (where.values.length === 0) return "false";
      const parameters = where.values.map((value) => bind.text(value)).join(", ");
      const hasNumbers = where.values.some((value) => parseNumber(value) !== null);
      return someFolded(field, (folded) => `${folded} in (${parameters})`, hasNumbers, bind);
    }
    case "contains": {
      const folded = fold(where.value);
      const parameter = bind.text(folded);
      return someFolded(field, (text) => `contains(${text}, ${parameter})`, /^[-.0-9]+$/.test(folded), bind);
    }
    case "matches": {
      const expression = toRe2(where.pattern);
      if (expression === null) return "false";
      const parameter = bind.text(expression.pattern);
      const test = (text: string): string => `regexp_matches(${text}, ${parameter})`;
      const tests = { number: (number: string) => test(plainText(number)), text: test, other: asOther(test) };
      return some(field, tests, bind);
    }
  }
  throw unknown(where satisfies never);
}

const asOther =
  (test: (text: string) => string) =>
  (one: string): string =>
    test(otherText(one));

function someFolded(
  field: AttributeField,
  test: (folded: string) => string,
  mayBeNumber: boolean,
  bind: Binder,
): string {
  return some(
    field,
    {
      number: mayBeNumber ? (number) => test(plainText(number)) : null,
      text: (text) => test(`lower(${text})`),
      other: (one) => test(otherFolded(one)),
    },
    bind,
  );
}

/**
 * Returns the sort keys of an attribute: absent values, then numbers, then texts. An event with
 * several values sorts by the first one in the direction.
 */
export function attributeOrder(field: AttributeField, direction: Direction, bind: Binder): string[] {
  const { number, text, others } = compileAttributeValues(field, bind);
  const least = direction === "asc" ? "list_min" : "list_max";
  const asKey = (key: string): string => `${key} ${directed(direction)}`;
  const numbers = `list_transform(list_filter(${others}, lambda one: one.d is not null), lambda one: one.d)`;
  const texts = `list_transform(list_filter(${others}, lambda one: one.d is null), lambda one: coalesce(one.f, one.t))`;
  const firstOf = (...parts: (string | null)[]): string | null => {
    const present = parts.filter((part) => part !== null);
    return present.length === 0 ? null : `coalesce(${present.join(", ")})`;
  };
  const byNumber = firstOf(number, others === null ? null : `${least}(${numbers})`);
  const byText = firstOf(text === null ? null : `lower(${text})`, others === null ? null : `${least}(${texts})`);
  // DuckDB does not sort by a constant.
  if (byNumber === null || byText === null) return [byNumber ?? byText].flatMap((key) => key ?? []).map(asKey);
  const keys =
    direction === "asc"
      ? [`if(${byNumber} is null, ${byText}, null)`, byNumber]
      : [byText, `if(${byText} is null, ${byNumber}, null)`];
  return keys.map(asKey);
}
