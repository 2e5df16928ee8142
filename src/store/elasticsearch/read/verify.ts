import type { EventRow } from "../../../events/event.ts";
import { lacksAttribute, numberOfValue, unsortedAttributes, valuesOfAttribute } from "../../../events/attributes.ts";
import type { Attributes, AttributeValue } from "../../../events/attributes.ts";
import { compareCodePoints, fold } from "../../../events/text.ts";
import { isAttribute, someComparison } from "../../../query/plan.ts";
import type { AttributeField, ComparisonOp, Condition, ConditionField, SearchedField } from "../../../query/plan.ts";
import { ExpressionSearch } from "../../../query/regex/search.ts";
import { nameOfSearch } from "../compile/word-queries.ts";
import { ContainedText } from "./contained-text.ts";
import type { TrackedUser } from "../../store.ts";
import { liesNear, liesWithin } from "../compile/geo.ts";

/** Access of conditions to the fields of a record. */
type Fields<Row, Field extends string> = {
  /** Returns the texts of a field, none if it is absent. */
  readonly texts: (row: Row, field: SearchedField<Field>) => readonly string[];
  /** Returns the numbers of a field, including those that its texts spell. */
  readonly numbers: (row: Row, field: Field) => readonly number[];
  readonly isAbsent: (row: Row, field: Field | "geo" | "data") => boolean;
  readonly isAfter: (row: Row, id: string) => boolean;
  /** Whether the location of a record meets a condition. */
  readonly isPlaced: (row: Row, condition: Extract<Condition, { kind: "geo-within" | "geo-near" }>) => boolean;
};

/** Compiles a condition to a test of events, for conditions that the index can only narrow. */
export function testOfEvents(condition: Condition): RecordTest<EventRow> {
  return new TestByFields(condition, {
    texts: fieldTexts,
    numbers: fieldNumbers,
    isAbsent,
    isAfter: (row, id) => row.id > id,
    isPlaced: (row, condition) =>
      condition.kind === "geo-within" ? liesWithin(row, condition) : liesNear(row, condition),
  });
}

/** Compiles a condition to a test of tracked users. */
export function testOfUsers(condition: Condition<keyof TrackedUser>): RecordTest<TrackedUser> {
  return new TestByFields<TrackedUser, keyof TrackedUser>(condition, {
    texts: textsOfUser,
    numbers: (row, field) => {
      const value = row[field];
      return typeof value === "number" ? [value] : [];
    },
    isAbsent: (row, field) => field === "geo" || field === "data" || row[field] === "",
    // Users have no ids of events.
    isAfter: () => false,
    isPlaced: () => false,
  });
}

/** A condition that is tested record by record. */
export type RecordTest<Row> = {
  holds(row: Row): boolean;
  /** Runs the long part of the next {@link holds} of a record in steps; null if there is none. */
  prepare(row: Row): Generator<void, void, void> | null;
};

/** Searches by what they find, with their results for long texts of the current record. */
type Searches = ReadonlyMap<string, Search>;
type Search = {
  readonly expression: Pick<ExpressionSearch, "isLong" | "test" | "inSteps">;
  readonly found: Map<string, boolean>;
};

class TestByFields<Row, Field extends string> implements RecordTest<Row> {
  readonly holds: (row: Row) => boolean;
  readonly #texts: Fields<Row, Field>["texts"];
  /** The searches and the fields that they are applied to. */
  readonly #places: readonly { readonly field: SearchedField<Field>; readonly search: Search }[];

  constructor(condition: Condition<Field>, fields: Fields<Row, Field>) {
    const all: Extract<Condition<Field>, { kind: "contains" | "matches" }>[] = [];
    someComparison(condition, (each) => {
      if (each.kind === "matches" || each.kind === "contains") all.push(each);
      return false;
    });
    const patterns = new Set(all.flatMap((each) => (each.kind === "matches" ? each.pattern : [])));
    const searches = new Map<string, Search>();
    for (const each of all) {
      const expression =
        each.kind === "matches" ? new ExpressionSearch(each.pattern, patterns.size) : new ContainedText(each.value);
      searches.set(nameOfSearch(each), { expression, found: new Map() });
    }
    this.#texts = fields.texts;
    this.#places = all.map((each) => ({ field: each.field, search: searches.get(nameOfSearch(each))! }));
    this.holds = testOf(condition, fields, searches);
  }

  prepare(row: Row): Generator<void, void, void> | null {
    const isLong = this.#places.some(({ field, search: { expression } }) =>
      this.#texts(row, field).some((text) => expression.isLong(text)),
    );
    return isLong ? this.#prepare(row) : null;
  }

  *#prepare(row: Row): Generator<void, void, void> {
    for (const { search } of this.#places) search.found.clear();
    for (const { field, search } of this.#places) {
      const { expression, found } = search;
      for (const text of this.#texts(row, field)) {
        if (!expression.isLong(text) || found.has(text)) continue;
        const isFound = yield* expression.inSteps(text);
        found.set(text, isFound);
        if (isFound) break;
      }
    }
  }
}

function testOf<Row, Field extends string>(
  condition: Condition<Field>,
  fields: Fields<Row, Field>,
  searches: Searches,
): (row: Row) => boolean {
  switch (condition.kind) {
    case "and": {
      const tests = condition.conditions.map((part) => testOf(part, fields, searches));
      return (row) => tests.every((test) => test(row));
    }
    case "or": {
      const tests = condition.conditions.map((part) => testOf(part, fields, searches));
      return (row) => tests.some((test) => test(row));
    }
    case "not": {
      const test = testOf(condition.condition, fields, searches);
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
      return testOf({ kind: "or", conditions: equalities }, fields, searches);
    }
    case "number": {
      const { field, op, value } = condition;
      return (row) =>
        fields.numbers(row, field).some((number) => holds(op, number < value ? -1 : number > value ? 1 : 0));
    }
    case "contains":
    case "matches": {
      const { expression, found } = searches.get(nameOfSearch(condition))!;
      return (row) => fields.texts(row, condition.field).some((text) => found.get(text) ?? expression.test(text));
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

/** The data of rows while it is tested. Rows may be kept for longer, and data is long. */
const dataOfRows = new WeakMap<EventRow, string>();

/** Provides the data of a row to tests. @returns a function that removes it again */
export function provideData(row: EventRow, data: string): () => void {
  dataOfRows.set(row, data);
  return () => dataOfRows.delete(row);
}

/** Returns the texts of a field, none if it is absent. */
export function fieldTexts(row: EventRow, field: SearchedField): readonly string[] {
  if (field === "data") {
    const data = dataOfRows.get(row) ?? "";
    return data === "" ? NONE : [data];
  }
  if (isAttribute(field)) return attributeValues(row, field).map(String);
  const value = row[field];
  if (typeof value === "object" && value !== null) return value;
  return typeof value === "string" && value !== "" ? [value] : NONE;
}

/** Returns the numbers of a field, none if it is absent or spells none. */
export function fieldNumbers(row: EventRow, field: ConditionField): readonly number[] {
  if (!isAttribute(field)) {
    const value = row[field];
    return typeof value === "number" ? [value] : NONE;
  }
  return attributeValues(row, field)
    .map(numberOfValue)
    .filter((number) => number !== null);
}

/** Returns the posted values of an attribute. */
export function attributeValues(row: EventRow, field: AttributeField): readonly AttributeValue[] {
  const name = field.slice(1);
  return row.attributes === null || lacksAttribute(row.attributes, name)
    ? NONE
    : valuesOfAttribute(attributesOf(row), name);
}

const NONE: readonly never[] = [];

/** Cache: a plan may refer to several attributes of a row. */
const parsed = new WeakMap<EventRow, Attributes>();

function attributesOf(row: EventRow): Attributes {
  let attributes = parsed.get(row);
  if (attributes === undefined) {
    attributes = unsortedAttributes(row.attributes);
    parsed.set(row, attributes);
  }
  return attributes;
}

function textsOfUser(row: TrackedUser, field: SearchedField<keyof TrackedUser>): readonly string[] {
  const value = field === "data" ? "" : row[field];
  return typeof value === "string" && value !== "" ? [value] : [];
}

function isAbsent(row: EventRow, field: ConditionField | "geo" | "data"): boolean {
  if (field === "data") return !row.data;
  if (field === "geo" || field === "value" || field === "created") return row[field] === null;
  return fieldTexts(row, field).length === 0;
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
