import { RE2JS } from "re2js";

import type { EventRow } from "../../events/event.ts";
import { compareCodePoints, fold } from "../../events/text.ts";
import type { ComparisonOp, Condition, NumberField, TextField } from "../../query/plan.ts";

export type Test = (row: EventRow) => boolean;

/** A condition as a function on rows: for what the index can only narrow. Expressions are compiled once. */
export function toTest(condition: Condition): Test {
  switch (condition.kind) {
    case "and": {
      const tests = condition.conditions.map(toTest);
      return (row) => tests.every((test) => test(row));
    }
    case "or": {
      const tests = condition.conditions.map(toTest);
      return (row) => tests.some((test) => test(row));
    }
    case "not": {
      const test = toTest(condition.condition);
      return (row) => !test(row);
    }
    case "text": {
      const { field, op, value } = condition;
      if (op === "=" && value === "") return (row) => textsOf(row, field).length === 0;
      return (row) => textsOf(row, field).some((text) => holds(op, compareCodePoints(fold(text), value)));
    }
    case "in":
      return toTest({ kind: "or", conditions: condition.values.map((value) => equality(condition.field, value)) });
    case "number": {
      const { field, op, value } = condition;
      return (row) => {
        const number = field === "created" ? row.created : row.value;
        return number !== null && holds(op, number < value ? -1 : number > value ? 1 : 0);
      };
    }
    case "contains": {
      const value = fold(condition.value);
      return (row) => textsOf(row, condition.field).some((text) => fold(text).includes(value));
    }
    case "matches": {
      const expression = RE2JS.compile(condition.pattern, RE2JS.CASE_INSENSITIVE);
      return (row) => textsOf(row, condition.field).some((text) => expression.test(text));
    }
    case "absent":
      return (row) => isAbsent(row, condition.field);
    case "accepted-after":
      return (row) => row.id > condition.id;
  }
  throw condition satisfies never;
}

function equality(field: TextField | NumberField, value: string): Condition {
  return { kind: "text", field, op: "=", value };
}

/** The texts of a field: none where it is absent. */
export function textsOf(row: EventRow, field: TextField | NumberField): readonly string[] {
  const value = row[field];
  if (typeof value === "object" && value !== null) return value;
  return typeof value === "string" && value !== "" ? [value] : [];
}

function isAbsent(row: EventRow, field: TextField | NumberField | "geo" | "data"): boolean {
  if (field === "data") return !row.data;
  if (field === "geo" || field === "value" || field === "created") return row[field] === null;
  return textsOf(row, field).length === 0;
}

function holds(op: ComparisonOp, order: number): boolean {
  switch (op) {
    case "=":
      return order === 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
  }
  throw op satisfies never;
}
