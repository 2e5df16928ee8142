import { isAttribute } from "../../../query/plan.ts";
import type { ConditionField, GroupPlan, ListPlan } from "../../../query/plan.ts";
import { ATTRIBUTE_PATHS, columnOf, keyOfField } from "../attributes.ts";
import type { ColumnKind } from "../attributes.ts";
import { ADDRESS, DATA_WORDS, ODD_DATA } from "../document.ts";
import { and, anyOf, not, or } from "../search/queries.ts";
import type { Query } from "../search/queries.ts";

/** Finds documents of an earlier release that may lack a field's index; null if there are none. */
export function doubtOfEarlier(field: ConditionField | "geo", earlier: readonly string[]): Query | null {
  if (earlier.length === 0) return null;
  const inEarlier = anyOf("_index", earlier);
  if (field === "pattern") {
    return and([inEarlier, { exists: { field: "folded.text" } }, not({ exists: { field: "folded.pattern" } })]);
  }
  if (field !== "geo") return null;
  const isUnplaced = { bool: { must_not: [{ term: { has: ADDRESS } }, { exists: { field: "place" } }] } };
  return and([inEarlier, { term: { has: "geo" } }, isUnplaced]);
}

/**
 * Finds events whose data the index of words does not hold as it is.
 * @param wordless indices with documents of an earlier release
 */
export function doubtOfData(wordless: readonly string[]): Query {
  const odd: Query = { term: { has: ODD_DATA } };
  if (wordless.length === 0) return odd;
  return or([odd, and([anyOf("_index", wordless), { term: { has: "data" } }, not({ term: { has: DATA_WORDS } })])]);
}

/** Finds events that the index cannot sort as a plan requires. */
export function doubtsOfSort({ sort }: ListPlan, earlier: readonly string[]): Query[] {
  return sort.flatMap(({ field }) => {
    if (field === "level") return [];
    if (!isAttribute(field)) return doubtOfEarlier(field, earlier) ?? [];
    const isMixed: Query = { term: { [ATTRIBUTE_PATHS.mixed]: keyOfField(field) } };
    return or([lacksColumns(keyOfField(field), ["folded", "numbers"]), isMixed]);
  });
}

/** Finds events that the index cannot group or aggregate. */
export function doubtsOfGroups({ by, aggregates }: GroupPlan, earlier: readonly string[]): Query[] {
  const texts = by.flatMap((each) => (each.kind === "field" ? each.field : []));
  const numbers = by.flatMap((each) => (each.kind === "bands" ? each.of : []));
  for (const aggregate of aggregates) {
    if (aggregate.kind === "distinct") texts.push(aggregate.field);
    else if ("of" in aggregate) numbers.push(aggregate.of);
  }
  const placeDoubt = by.some(({ kind }) => kind === "place") ? doubtOfEarlier("geo", earlier) : null;
  return [
    ...(placeDoubt === null ? [] : [placeDoubt]),
    ...texts.flatMap((field) => {
      if (isAttribute(field)) return lacksColumns(keyOfField(field), ["texts"]);
      return doubtOfEarlier(field, earlier) ?? [];
    }),
    ...numbers.flatMap((field) => (isAttribute(field) ? lacksColumns(keyOfField(field), ["numbers"]) : [])),
  ];
}

/** Finds events with numbers of an attribute that neither columns nor terms hold. */
export function lacksNumbers(key: string): Query {
  return { term: { _ignored: columnOf("numbers", key) } };
}

function lacksColumns(key: string, kinds: readonly ColumnKind[]): Query {
  const ignored = kinds.map((kind) => columnOf(kind, key));
  return or([{ term: { [ATTRIBUTE_PATHS.rest]: key } }, anyOf("_ignored", ignored)]);
}
