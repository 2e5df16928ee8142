import type { EventRow } from "../events/event.ts";
import { rankOfTags } from "../events/level.ts";
import { fold } from "../events/text.ts";
import { compareLevel } from "./levels.ts";
import { isAttribute } from "./plan.ts";
import type { AttributeField, ComparisonOp, Condition, Direction, ListPlan, SortField } from "./plan.ts";

/** A field for keyset pagination. No condition selects what follows a value of an attribute. */
type PlainField = Exclude<SortField, AttributeField>;
type StoredField = Exclude<PlainField, "level">;
export type FieldSortKey = { readonly field: PlainField; readonly direction: Direction };

/** Returns whether a list can be paged with {@link afterEvent}. */
export function supportsKeyset(sort: ListPlan["sort"]): sort is readonly FieldSortKey[] {
  return sort.every(({ field }) => !isAttribute(field));
}

/**
 * Returns the condition for the events after a given one, in the order of a list plan. With it each
 * page starts where the previous one ended, whatever is stored or deleted meanwhile.
 */
export function afterEvent(event: EventRow, sort: readonly FieldSortKey[]): Condition {
  if (sort[0]?.field === "id") return afterId(event, sort[0].direction);
  const keys: readonly FieldSortKey[] = sort.at(-1)?.field === "created" ? sort : [...sort, tieBreaker(sort)];
  return or(
    keys.map((key, i) =>
      and([...keys.slice(0, i).map((earlier) => sameAs(event, earlier.field)), afterInKey(event, key)]),
    ),
  );
}

/** Ties are broken by time and then id, in the direction of the last key. */
function tieBreaker(sort: readonly FieldSortKey[]): FieldSortKey {
  return { field: "created", direction: sort.at(-1)?.direction ?? "asc" };
}

function afterId({ id }: EventRow, direction: Direction): Condition {
  return direction === "asc" ? { kind: "accepted-after", id } : { kind: "text", field: "id", op: "<", value: id };
}

function afterInKey(event: EventRow, { field, direction }: FieldSortKey): Condition {
  if (field === "created") return afterTime(event, direction);
  if (field === "level") return compareLevel(direction === "asc" ? ">" : "<", rankOfTags(event.tags));
  const value = valueOf(event, field);
  const absent: Condition = { kind: "absent", field };
  if (value === null) return direction === "asc" ? { kind: "not", condition: absent } : NOTHING;
  const further = compare(field, direction === "asc" ? ">" : "<", value);
  // Absent values sort before all others.
  return direction === "asc" ? further : or([further, absent]);
}

/** The separate bound on the time comes first, because stores can skip by it. */
function afterTime({ created, id }: EventRow, direction: Direction): Condition {
  const op = direction === "asc" ? ">" : "<";
  const moment = (relation: ComparisonOp): Condition => ({
    kind: "number",
    field: "created",
    op: relation,
    value: created,
  });
  const tied = and([moment("="), { kind: "text", field: "id", op, value: id }]);
  return and([moment(`${op}=`), or([moment(op), tied])]);
}

function sameAs(event: EventRow, field: PlainField): Condition {
  if (field === "level") return compareLevel("=", rankOfTags(event.tags));
  const value = valueOf(event, field);
  return value === null ? { kind: "absent", field } : compare(field, "=", value);
}

function compare(field: StoredField, op: "=" | "<" | ">", value: string | number): Condition {
  if (typeof value === "number") return { kind: "number", field: field as "value" | "created", op, value };
  return { kind: "text", field: field as Exclude<StoredField, "value" | "created">, op, value: fold(value) };
}

function valueOf(event: EventRow, field: StoredField): string | number | null {
  const value = event[field];
  return value === "" ? null : value;
}

const NOTHING: Condition = Object.freeze({ kind: "or", conditions: Object.freeze([]) });

function and(conditions: readonly Condition[]): Condition {
  return conditions.length === 1 ? conditions[0]! : { kind: "and", conditions };
}

function or(conditions: readonly Condition[]): Condition {
  return conditions.length === 1 ? conditions[0]! : { kind: "or", conditions };
}
