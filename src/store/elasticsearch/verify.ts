import type { EventRow } from "../../events/event.ts";
import { numberOfValue, parseAttributes, textsOfAttribute, valuesOfAttribute } from "../../events/attributes.ts";
import type { Attributes, AttributeValue } from "../../events/attributes.ts";
import { compareCodePoints, fold } from "../../events/text.ts";
import { isAttribute } from "../../query/plan.ts";
import type { AttributeField, ComparisonOp, Condition, ConditionField } from "../../query/plan.ts";
import { compileExpression } from "../../query/regex-tree.ts";
import type { TrackedUser } from "../store.ts";
import { liesNear, liesWithin } from "./geo.ts";

/** How conditions look at a record. */
type Fields<Row, Field extends string> = {
  /** The texts of a field: none where it is absent. */
  readonly texts: (row: Row, field: Field) => readonly string[];
  /** The numbers of a field, or that its texts spell. */
  readonly numbers: (row: Row, field: Field) => readonly number[];
  readonly isAbsent: (row: Row, field: Field | "geo" | "data") => boolean;
  readonly isAfter: (row: Row, id: string) => boolean;
  /** Whether the place of a record is one that a condition asks for. */
  readonly isPlaced: (row: Row, condition: Extract<Condition, { kind: "geo-within" | "geo-near" }>) => boolean;
};

/** A condition as a function on events: for what the index can only narrow. Expressions are compiled once. */
export function testOfEvents(condition: Condition): (row: EventRow) => boolean {
  return testOf(condition, {
    texts: textsOf,
    numbers: numbersOf,
    isAbsent,
    isAfter: (row, id) => row.id > id,
    isPlaced: (row, condition) =>
      condition.kind === "geo-within" ? liesWithin(row, condition) : liesNear(row, condition),
  });
}

/** A condition as a function on tracked users. */
export function testOfUsers(condition: Condition<keyof TrackedUser>): (row: TrackedUser) => boolean {
  return testOf<TrackedUser, keyof TrackedUser>(condition, {
    texts: textsOfUser,
    numbers: (row, field) => {
      const value = row[field];
      return typeof value === "number" ? [value] : [];
    },
    isAbsent: (row, field) => field === "geo" || field === "data" || row[field] === "",
    // A user is no event and has no id.
    isAfter: () => false,
    isPlaced: () => false,
  });
}

function testOf<Row, Field extends string>(
  condition: Condition<Field>,
  fields: Fields<Row, Field>,
): (row: Row) => boolean {
  switch (condition.kind) {
    case "and": {
      const tests = condition.conditions.map((part) => testOf(part, fields));
      return (row) => tests.every((test) => test(row));
    }
    case "or": {
      const tests = condition.conditions.map((part) => testOf(part, fields));
      return (row) => tests.some((test) => test(row));
    }
    case "not": {
      const test = testOf(condition.condition, fields);
      return (row) => !test(row);
    }
    case "text": {
      const { field, op, value } = condition;
      if (op === "=" && value === "" && !isAttribute(field)) return (row) => fields.texts(row, field).length === 0;
      return (row) => fields.texts(row, field).some((text) => holds(op, compareCodePoints(fold(text), value)));
    }
    case "in": {
      const { field } = condition;
      const equalities = condition.values.map((value) => ({ kind: "text" as const, field, op: "=" as const, value }));
      return testOf({ kind: "or", conditions: equalities }, fields);
    }
    case "number": {
      const { field, op, value } = condition;
      return (row) =>
        fields.numbers(row, field).some((number) => holds(op, number < value ? -1 : number > value ? 1 : 0));
    }
    case "contains": {
      const value = fold(condition.value);
      return (row) => fields.texts(row, condition.field).some((text) => fold(text).includes(value));
    }
    case "matches": {
      const expression = compileExpression(condition.pattern);
      return (row) => fields.texts(row, condition.field).some((text) => expression.test(text));
    }
    case "absent":
      return (row) => fields.isAbsent(row, condition.field);
    case "geo-within":
    case "geo-near":
      return (row) => fields.isPlaced(row, condition);
    case "accepted-after":
      return (row) => fields.isAfter(row, condition.id);
  }
  throw condition satisfies never;
}

/** The texts of a field: none where it is absent. */
export function textsOf(row: EventRow, field: ConditionField): readonly string[] {
  if (isAttribute(field)) return textsOfAttribute(attributesOf(row), field.slice(1));
  const value = row[field];
  if (typeof value === "object" && value !== null) return value;
  return typeof value === "string" && value !== "" ? [value] : NONE;
}

/** The numbers of a field: none where it is absent, or spells none. */
export function numbersOf(row: EventRow, field: ConditionField): readonly number[] {
  if (!isAttribute(field)) {
    const value = row[field];
    return typeof value === "number" ? [value] : NONE;
  }
  return valuesOf(row, field)
    .map(numberOfValue)
    .filter((number) => number !== null);
}

/** The values of an attribute, as they were posted. */
export function valuesOf(row: EventRow, field: AttributeField): readonly AttributeValue[] {
  return valuesOfAttribute(attributesOf(row), field.slice(1));
}

const NONE: readonly never[] = [];

/** A plan may ask for several attributes of a row. */
const parsed = new WeakMap<EventRow, Attributes>();

function attributesOf(row: EventRow): Attributes {
  let attributes = parsed.get(row);
  if (attributes === undefined) {
    attributes = parseAttributes(row.attributes);
    parsed.set(row, attributes);
  }
  return attributes;
}

function textsOfUser(row: TrackedUser, field: keyof TrackedUser): readonly string[] {
  const value = row[field];
  return typeof value === "string" && value !== "" ? [value] : [];
}

function isAbsent(row: EventRow, field: ConditionField | "geo" | "data"): boolean {
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
