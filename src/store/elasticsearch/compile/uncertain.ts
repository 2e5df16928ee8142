import { isAttribute } from "../../../query/plan.ts";
import type { GroupPlan, ListPlan } from "../../../query/plan.ts";
import { ATTRIBUTE_PATHS, attributeColumn, keyOfField } from "../documents/attributes.ts";
import type { ColumnKind } from "../documents/attributes.ts";
import { ODD_DATA } from "../documents/document.ts";
import { matchAnyValue, or } from "../client/queries.ts";
import type { Query } from "../client/queries.ts";

/** Finds events whose data the index of words does not hold as it is. */
export const DOUBT_OF_DATA: Query = { term: { has: ODD_DATA } };

/** Finds events that the index cannot sort as a plan requires. */
export function uncertainSortQueries({ sort }: ListPlan): Query[] {
  return sort.flatMap(({ field }) => {
    if (!isAttribute(field)) return [];
    const isMixed: Query = { term: { [ATTRIBUTE_PATHS.mixed]: keyOfField(field) } };
    return or([lacksColumns(keyOfField(field), ["folded", "numbers"]), isMixed]);
  });
}

/** Finds events that the index cannot group or aggregate. */
export function uncertainGroupQueries({ by, aggregates }: GroupPlan): Query[] {
  const texts = by.flatMap((each) => (each.kind === "field" ? each.field : []));
  const numbers = by.flatMap((each) => (each.kind === "bands" ? each.of : []));
  for (const aggregate of aggregates) {
    if (aggregate.kind === "distinct") texts.push(aggregate.field);
    else if ("of" in aggregate) numbers.push(aggregate.of);
  }
  return [
    ...texts.flatMap((field) => (isAttribute(field) ? lacksColumns(keyOfField(field), ["texts"]) : [])),
    ...numbers.flatMap((field) => (isAttribute(field) ? lacksColumns(keyOfField(field), ["numbers"]) : [])),
  ];
}

/** Finds events with numbers of an attribute that neither columns nor terms hold. */
export function lacksNumbers(key: string): Query {
  return { term: { _ignored: attributeColumn("numbers", key) } };
}

function lacksColumns(key: string, kinds: readonly ColumnKind[]): Query {
  const ignored = kinds.map((kind) => attributeColumn(kind, key));
  return or([{ term: { [ATTRIBUTE_PATHS.rest]: key } }, matchAnyValue("_ignored", ignored)]);
}
