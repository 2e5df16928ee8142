import * as fc from "fast-check";

import type { LogKey } from "../../src/events/event.ts";
import type {
  Aggregate,
  AttributeField,
  GroupField,
  Grouping,
  GroupPlan,
  HavingCondition,
  NumberSource,
} from "../../src/query/plan.ts";
import { EVERYTHING, NUMBER_AGGREGATES } from "../../src/query/plan.ts";
import { ZONES, conditions } from "./arbitrary.ts";
import { NUMBER_MEANINGS } from "./number-aggregates.ts";
import { attributeFields } from "./arbitrary-attributes.ts";

/** Plans of groups with up to three keys of all kinds and all aggregates. */

const fields: fc.Arbitrary<GroupField | AttributeField> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.constantFrom<GroupField>(
      "text",
      "link",
      "hash",
      "pattern",
      "tags",
      "source",
      "log",
      "class",
      "user",
      "value",
    ),
  },
  attributeFields,
);

const numberSources: fc.Arbitrary<NumberSource> = fc.oneof(fc.constant("value" as const), attributeFields);

const PERIODS = [
  ["seconds", 1],
  ["seconds", 15],
  ["seconds", 60],
  ["minutes", 1],
  ["minutes", 15],
  ["minutes", 60],
  ["hours", 1],
  ["hours", 6],
  ["hours", 24],
  ["days", 1],
  ["days", 10],
  ["weeks", 1],
  ["months", 1],
] as const;

export const groupings: fc.Arbitrary<Grouping> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...PERIODS), fc.constantFrom(...ZONES))
    .map(([[unit, count], zone]) => ({ kind: "period" as const, unit, count, zone })),
  { weight: 2, arbitrary: fields.map((field) => ({ kind: "field" as const, field })) },
  fc.constant({ kind: "place" as const }),
  fc.constant({ kind: "level" as const }),
  fc
    .record({
      of: numberSources,
      bounds: fc.uniqueArray(fc.constantFrom(-100, -1.5, 0, 0.5, 7, 10, 200, 500, 1e15), {
        minLength: 1,
        maxLength: 4,
      }),
    })
    .map(({ of, bounds }) => ({ kind: "bands" as const, of, bounds: bounds.sort((a, b) => a - b) })),
);

function aggregates(logs: readonly LogKey[]): fc.Arbitrary<Aggregate> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant({ kind: "count" as const, where: null }) },
    conditions(logs, 1).map((where) => ({ kind: "count" as const, where })),
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom(...NUMBER_AGGREGATES),
        of: numberSources,
      }),
    },
    fc.record({
      kind: fc.constant("percentile" as const),
      of: numberSources,
      percent: fc.constantFrom(1, 50, 90, 95, 99.9),
    }),
    fc.record({ kind: fc.constant("distinct" as const), field: fields }),
    fc.record({
      kind: fc.constantFrom("first" as const, "last" as const),
      field: fc.oneof(fields, fc.constantFrom("id" as const, "created" as const)),
    }),
  );
}

/**
 * Returns whether engines compute an aggregate equally to the last bit, so that groups may be
 * filtered and sorted by it.
 */
function isExact(aggregate: Aggregate): boolean {
  if (!("of" in aggregate)) return true;
  return aggregate.kind !== "percentile" && NUMBER_MEANINGS[aggregate.kind].tolerance === null;
}

function havings(computed: readonly Aggregate[]): fc.Arbitrary<HavingCondition | null> {
  const numeric = computed.flatMap(({ kind }, i) =>
    kind === "count" || kind === "distinct" || kind === "max" ? [i] : [],
  );
  if (numeric.length === 0) return fc.constant(null);
  const leaf: fc.Arbitrary<HavingCondition> = fc.oneof(
    fc.record({
      kind: fc.constant("compare" as const),
      aggregate: fc.constantFrom(...numeric),
      op: fc.constantFrom("=" as const, "<" as const, "<=" as const, ">" as const, ">=" as const),
      value: fc.constantFrom(0, 1, 2, 5, 200),
    }),
    fc.record({ kind: fc.constant("absent" as const), aggregate: fc.constantFrom(...numeric) }),
  );
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    leaf,
    leaf.map((condition) => ({ kind: "not" as const, condition })),
    fc.record({ kind: fc.constantFrom("and" as const, "or" as const), conditions: fc.array(leaf, { maxLength: 2 }) }),
  );
}

/** Plans for groups of events of these logs. */
export function groupPlans(logs: readonly LogKey[]): fc.Arbitrary<GroupPlan> {
  const written = (value: unknown): string => JSON.stringify(value);
  return fc
    .record({
      by: fc.uniqueArray(groupings, { maxLength: 3, selector: written }),
      computed: fc.uniqueArray(aggregates(logs), { maxLength: 4, selector: written }),
    })
    .chain(({ by, computed }) => {
      const sortable = computed.flatMap((aggregate, i) => (isExact(aggregate) ? [i] : []));
      return fc.record({
        kind: fc.constant("group" as const),
        from: fc.constant({ kind: "events" as const }),
        logs: fc.subarray([...logs], { minLength: 0 }),
        where: fc.oneof(fc.constant(EVERYTHING), { weight: 5, arbitrary: conditions(logs) }),
        by: fc.constant(by),
        aggregates: fc.constant(computed),
        having: havings(computed),
        sort: fc.record({
          by: fc.constantFrom("key" as const, "key" as const, ...sortable),
          direction: fc.constantFrom("asc" as const, "desc" as const),
        }),
        skip: fc.constantFrom(0, 0, 1, 3),
        take: fc.constantFrom(null, null, 1, 2, 500),
      });
    });
}
