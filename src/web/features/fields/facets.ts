import { MOST_AGGREGATES } from "../../../query/plan.ts";
import { choicesOfField, hasChoice, readQuery, withoutField } from "../../parts/query/compose.ts";
import type { EditableQuery } from "../../parts/query/compose.ts";
import { writeSelection } from "../../parts/query/choices.ts";
import type { Choice } from "../../parts/query/choices.ts";
import type { FieldRecord } from "../../parts/api/types.ts";
import { bandOfKey, queryWithin } from "../../parts/query/groups.ts";
import type { GroupRecord } from "../../parts/query/groups.ts";
import { writeField } from "../../parts/query/print.ts";
import type { Moments } from "../../parts/query/range.ts";
import { roundUp } from "../../parts/text/numbers.ts";

/** Statistics of a field over all events found. */
export type FieldStatistics = {
  readonly name: string;
  readonly isNumber: boolean;
  /** Number of different values. */
  readonly distinct: number;
  /** Least and greatest number; null for other fields and for none. */
  readonly min: number | null;
  readonly max: number | null;
};

/** A value or band of a field, and the number of events that have it. */
export type FacetValue = { readonly choice: Choice; readonly count: number };

/** Fields without a facet: the page shows them elsewhere, or their values differ in each event. */
const NO_FACETS = new Set([
  "created",
  "text",
  "data",
  "geo",
  "pattern",
  "link",
  "id",
  "hash",
  "log",
  "bookmarks",
  "alerts",
]);
/** Fields listed first, since readers look at them first. */
const FIRST = ["class", "source", "tags", "value"];
/** Most facets listed at once; further fields are found by name. */
export const MOST_FACETS = 40;

/** Returns possible facets: standard fields, others by number of events, then `user`. */
export function facetFields(fields: readonly FieldRecord[]): readonly FieldRecord[] {
  const rank = ({ name }: FieldRecord) =>
    FIRST.includes(name) ? FIRST.indexOf(name) : name === "user" ? 1e9 : FIRST.length;
  return fields
    .filter(({ name }) => !NO_FACETS.has(name))
    .toSorted((one, other) => rank(one) - rank(other) || Number(other.count) - Number(one.count));
}

/**
 * Returns the fields that a query has conditions on, each with the query without these: a field's
 * own selection does not narrow its values and bands.
 */
export function conditioned(
  parsed: EditableQuery,
  fields: readonly FieldRecord[],
): readonly { readonly field: FieldRecord; readonly rest: EditableQuery }[] {
  return fields.flatMap((field) => {
    const text = withoutField(parsed, field.name);
    const rest = text === parsed.text ? null : readQuery(text);
    return rest === null ? [] : [{ field, rest }];
  });
}

/** Splits fields into parts whose statistics are one query each. */
export function statisticsParts(fields: readonly FieldRecord[]): readonly (readonly FieldRecord[])[] {
  const parts: FieldRecord[][] = [];
  let room = 0;
  for (const field of fields) {
    const aggregates = field.kind === "number" ? 3 : 1;
    if (aggregates > room) {
      parts.push([]);
      room = MOST_AGGREGATES;
    }
    parts.at(-1)!.push(field);
    room -= aggregates;
  }
  return parts;
}

/**
 * Returns one query for distinct counts and, for numbers, the least and the greatest.
 * @param fields those of one of {@link statisticsParts}
 */
export function statisticsQuery(
  parsed: EditableQuery,
  fields: readonly FieldRecord[],
  moments: Moments,
  zone: string,
): string {
  const columns = fields.flatMap(({ name, kind }, index) => {
    const field = writeField(name);
    const distinct = `DISTINCT(${field}) AS d${index}`;
    return kind === "number" ? [distinct, `MIN(${field}) AS min${index}`, `MAX(${field}) AS max${index}`] : [distinct];
  });
  return queryWithin(parsed, [["columns", `COLUMNS(${columns.join(", ")})`]], moments, zone);
}

export function readStatistics(
  record: GroupRecord | undefined,
  fields: readonly FieldRecord[],
): readonly FieldStatistics[] {
  const numberOf = (name: string) => Number(record?.[name] ?? 0);
  return fields.map(({ name, kind }, index) => {
    const distinct = numberOf(`d${index}`);
    const isNumber = kind === "number" && distinct > 0;
    return {
      name,
      isNumber,
      distinct,
      min: isNumber ? numberOf(`min${index}`) : null,
      max: isNumber ? numberOf(`max${index}`) : null,
    };
  });
}

/** Most different numbers that are listed one by one; more are grouped into bands. */
const MOST_SINGLE_NUMBERS = 12;

/** Returns the inner bounds of about six round bands; null if values are listed. */
export function bandBounds({ isNumber, distinct, min, max }: FieldStatistics): readonly number[] | null {
  if (!isNumber || distinct <= MOST_SINGLE_NUMBERS || min === null || max === null || max <= min) return null;
  // Numbers in logs are mostly small with a long tail, so a wide range is split by powers of ten.
  if (min >= 0 && max >= 100) return powersBelow(max);
  const step = roundUp((max - min) / 6);
  const bounds: number[] = [];
  for (let at = Math.ceil(min / step) * step; at < max && bounds.length < 8; at += step)
    if (at > min) bounds.push(exact(at));
  return bounds.length === 0 ? null : bounds;
}

function powersBelow(max: number): readonly number[] {
  const bounds: number[] = [];
  for (let power = 10; power < max; power *= 10) bounds.push(power, power * 5);
  return bounds.filter((bound) => bound < max).slice(-6);
}

function exact(number: number): number {
  return Number(number.toPrecision(12));
}

/** Returns the query for the values of a field, without the conditions on that field itself. */
export function facetQuery(
  statistics: FieldStatistics,
  parsed: EditableQuery,
  moments: Moments,
  zone: string,
  take: number,
): string | null {
  const rest = readQuery(withoutField(parsed, statistics.name));
  if (rest === null) return null;
  const field = writeField(statistics.name);
  const bounds = bandBounds(statistics);
  return queryWithin(
    rest,
    bounds === null
      ? [
          ["groupBy", `GROUPBY ${field}`],
          ["columns", "COLUMNS(KEY, COUNT)"],
          ["sort", "SORT COUNT DESC"],
          ["take", `TAKE ${take}`],
        ]
      : [
          ["groupBy", `GROUPBY BANDS(${field}, ${bounds.join(", ")})`],
          ["columns", "COLUMNS(KEY, COUNT)"],
        ],
    moments,
    zone,
  );
}

export function readFacet(statistics: FieldStatistics, records: readonly GroupRecord[]): readonly FacetValue[] {
  const isBanded = bandBounds(statistics) !== null;
  return records
    .map((record) => ({
      choice: isBanded ? bandOfKey(record.key) : record.key === "" ? null : record.key,
      count: Number(record["count"]),
    }))
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => Number(one.choice === null) - Number(other.choice === null));
}

/** Returns a query's choices of a field, selected or excluded, that are not among these values. */
export function choicesBeside(
  parsed: EditableQuery,
  field: string,
  values: readonly Pick<FacetValue, "choice">[],
): Choice[] {
  const { chosen, not } = choicesOfField(parsed, field);
  const beside: Choice[] = [];
  const listed = values.map(({ choice }) => choice);
  for (const choice of [...chosen, ...not]) {
    if (!hasChoice(field, listed, choice) && !hasChoice(field, beside, choice)) beside.push(choice);
  }
  return beside;
}

/** Returns the query that counts choices of a field, without the field's own conditions. */
export function countsQuery(
  field: string,
  choices: readonly Choice[],
  parsed: EditableQuery,
  moments: Moments,
  zone: string,
): string | null {
  const rest = readQuery(withoutField(parsed, field));
  if (rest === null) return null;
  const columns = choices.map((choice, index) => {
    const condition = writeSelection({ field, isNot: false, choices: [choice] });
    return `COUNT(${condition}) AS n${index}`;
  });
  return queryWithin(rest, [["columns", `COLUMNS(${columns.join(", ")})`]], moments, zone);
}

export function readCounts(choices: readonly Choice[], record: GroupRecord | undefined): readonly FacetValue[] {
  return choices.map((choice, index) => ({ choice, count: Number(record?.[`n${index}`] ?? 0) }));
}
