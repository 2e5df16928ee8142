import type { EventRow } from "../../../../events/event.ts";
import { hashText } from "../../../../events/hash.ts";
import { rankOfTags } from "../../../../events/level.ts";
import { keyOfPeriod } from "../../../../query/calendar.ts";
import { keyOfPlace } from "../../../../query/places.ts";
import { isAttribute } from "../../../../query/plan.ts";
import type { Aggregate, GroupPlan, Grouping, NumberSource } from "../../../../query/plan.ts";
import type { WorkKind } from "../../../../scheduling/yielding.ts";
import { GroupLengths, tooLongGroups, tooManyGroups } from "../../../groups.ts";
import { numberAggregation, roundingError, valueOfSums } from "../../../number-aggregates.ts";
import type { AggregateOfNumbers, AggregateOfSums } from "../../../number-aggregates.ts";
import type { Group, GroupValue } from "../../../store.ts";
import { aggregatedValue } from "./aggregates.ts";
import { YieldingTest } from "../yielding-test.ts";
import { fieldNumbers, testOfEvents, fieldTexts } from "../verify.ts";

/** Maximum number of groups in memory, before any is dropped. */
export const MAX_GROUPS_IN_MEMORY = 1_000_000;

/** Length of distinct values from which they are kept as hashes. */
const HASHED_LENGTH = 64;

/** An aggregate to which the rows of a group are added. */
type Accumulator = { add(row: EventRow): void; value(): GroupValue };

type OpenGroup = { readonly keys: readonly GroupValue[]; readonly values: readonly Accumulator[] };

/**
 * Computes the groups of rows.
 * @throws LoggiaError `unsupported` if there are too many groups, `overloaded` if testing the rows
 * takes too long
 */
export async function groupsOfRows(
  plan: GroupPlan,
  rows: readonly EventRow[] | AsyncIterable<EventRow>,
  querying: WorkKind,
): Promise<Iterable<Group>> {
  const groups = new Map<string, OpenGroup>();
  const keysOf = plan.by.map(keysOfRow);
  /** Tests of the conditions of counts. */
  const counted = plan.aggregates.map((each) =>
    each.kind === "count" && each.where !== null ? new YieldingTest(testOfEvents(each.where), querying) : null,
  );
  const makers = plan.aggregates.map(accumulatorOf);
  const lengths = new GroupLengths();
  for await (const row of rows) {
    const isCounted: boolean[] = [];
    for (const test of counted) isCounted.push(test === null || (await test.holds(row)));
    for (const keys of combinations(keysOf.map((each) => each(row)))) {
      const name = JSON.stringify(keys);
      let group = groups.get(name);
      if (group === undefined) {
        lengths.add(keys);
        group = { keys, values: makers.map((make) => make()) };
        groups.set(name, group);
      }
      for (const [i, value] of group.values.entries()) if (isCounted[i]!) value.add(row);
    }
    if (groups.size > MAX_GROUPS_IN_MEMORY) throw tooManyGroups();
    if (lengths.isFull) throw tooLongGroups();
  }
  return groups.values().map(({ keys, values }) => ({ keys, values: values.map((each) => each.value()) }));
}

/** Returns all combinations of one item of each list. */
export function combinations<T>(choices: readonly (readonly T[])[]): T[][] {
  return choices.reduce<T[][]>((some, each) => some.flatMap((one) => each.map((next) => [...one, next])), [[]]);
}

function keysOfRow(by: Grouping): (row: EventRow) => readonly GroupValue[] {
  switch (by.kind) {
    case "period": {
      const keyOf = keyOfPeriod(by);
      return ({ created }) => [keyOf(created)];
    }
    case "bands":
      return (row) =>
        orAbsent(
          fieldNumbers(row, by.of).map((number) => bandOf(by.bounds, number)),
          null,
        );
    case "level":
      return ({ tags }) => [rankOfTags(tags)];
    case "place":
      return ({ geo }) => [keyOfPlace(geo)];
    case "field": {
      const { field } = by;
      if (field === "value") return ({ value }) => [value];
      return (row) => orAbsent(fieldTexts(row, field), isAttribute(field) ? null : "");
    }
  }
  throw by satisfies never;
}

function orAbsent(keys: readonly GroupValue[], absent: GroupValue): readonly GroupValue[] {
  return keys.length === 0 ? [absent] : keys.length === 1 ? keys : [...new Set(keys)];
}

function bandOf(bounds: readonly number[], number: number): number {
  const next = bounds.findIndex((bound) => number < bound);
  return next === -1 ? bounds.length : next;
}

function accumulatorOf(aggregate: Aggregate): () => Accumulator {
  if ("of" in aggregate) {
    const aggregation = numberAggregation(aggregate);
    return aggregation.from === "sums"
      ? () => sumsAccumulator(aggregation, aggregate.of)
      : () => numbersAccumulator(aggregation, aggregate.of);
  }
  switch (aggregate.kind) {
    case "count":
      return () => {
        let count = 0;
        return { add: () => void (count += 1), value: () => count };
      };
    case "distinct": {
      const { field } = aggregate;
      return () => {
        const values = new Set<number | string>();
        const valuesOf = field === "value" ? fieldNumbers : fieldTexts;
        return {
          add: (row) => valuesOf(row, field).forEach((value) => values.add(shortOf(value))),
          value: () => values.size,
        };
      };
    }
    case "first":
    case "last":
      return () => endAccumulator(aggregate);
  }
  throw aggregate satisfies never;
}

/** Returns what stands for a value in memory: of a long text its hash. */
function shortOf(value: number | string): number | string {
  return typeof value === "string" && value.length > HASHED_LENGTH ? hashText(value) : value;
}

function numbersAccumulator({ compute }: AggregateOfNumbers, of: NumberSource): Accumulator {
  const numbers: number[] = [];
  return {
    add: (row) => void numbers.push(...fieldNumbers(row, of)),
    value: () => (numbers.length === 0 ? null : compute(numbers)),
  };
}

/** Sums with a correction for the rounding errors of each step. */
function sumsAccumulator(aggregation: AggregateOfSums, of: NumberSource): Accumulator {
  let [numbers, sum, error, min, max] = [0, 0, 0, Infinity, -Infinity];
  const add = (number: number): void => {
    error += roundingError(sum, number);
    sum += number;
    numbers += 1;
    min = Math.min(min, number);
    max = Math.max(max, number);
  };
  return {
    add: (row) => fieldNumbers(row, of).forEach(add),
    value: () => valueOfSums(aggregation, { numbers, sum: sum + error, min, max }),
  };
}

function endAccumulator({ kind, field }: Extract<Aggregate, { kind: "first" | "last" }>): Accumulator {
  let end: Pick<EventRow, "created" | "id"> | null = null;
  let value: GroupValue = null;
  const sign = kind === "first" ? 1 : -1;
  return {
    add(row) {
      const next = aggregatedValue(row, field);
      if (next === null) return;
      if (end !== null && sign * (row.created - end.created || (row.id < end.id ? -1 : 1)) > 0) return;
      // Not the row, which has texts of its own.
      [end, value] = [{ created: row.created, id: row.id }, next];
    },
    value: () => value,
  };
}
