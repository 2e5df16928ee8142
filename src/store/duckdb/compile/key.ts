import { DOUBLE } from "@duckdb/node-api";

import { utcMidnight, periodLength, periodOrigin, REPEATED, offsetPeriodsFor } from "../../../query/calendar.ts";
import { keyOfPlace } from "../../../query/places.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { AttributeField, Bands, Condition, GroupField, Grouping, Period } from "../../../query/plan.ts";
import { conditionTimeBounds } from "../../../query/time-range.ts";
import type { OffsetPeriod } from "../../../query/zone.ts";
import type { GroupValue } from "../../store.ts";
import type { Row } from "../database/run-statement.ts";
import { plainText } from "../database/attributes.ts";
import type { Binder } from "./binder.ts";
import { hasOthers, compileAttributeValues } from "./attribute.ts";
import { AS_GIVEN, foldedText, hasFolds, textHashSql, levelRank, splitTagsSql } from "./condition.ts";

/** A key of groups in SQL. */
export type CompiledKey = {
  /** Columns of an event with one value, by which events are grouped. */
  readonly columns: readonly string[];
  /** Names of the columns that distinguish groups. */
  readonly groups: readonly string[];
  /** Names of the columns that are equal within a group. */
  readonly extra: readonly string[];
  /** Sort keys of groups. */
  readonly order: readonly string[];
  /** Columns passed to {@link read}. */
  readonly shown: readonly string[];
  readonly read: (shown: Row) => GroupValue;
  /**
   * Set if events may have several values: a condition for that, never NULL; the list of an event's
   * values, also if it is a single one; and the columns of one element.
   */
  readonly several: {
    readonly has: string;
    readonly list: string;
    readonly columns: (each: string) => readonly string[];
  } | null;
};

/** @param i index of the key, used in the names of its columns */
export function compileGroupKey(by: Grouping, i: number, where: Condition, bind: Binder): CompiledKey {
  switch (by.kind) {
    case "period":
      return by.unit === "months" ? monthKey(by, i, where, bind) : periodKey(by, i, where, bind);
    case "bands":
      return bandKey(by, i, bind);
    case "place":
      return placeKey(i);
    case "level":
      return single(levelRank(bind), `k${i}`);
    case "field":
      if (isAttribute(by.field)) return attributeKey(by.field, i, bind);
      return by.field === "tags" ? tagKey(i, bind) : fieldKey(by.field, i, bind);
  }
}

function single(column: string, name: string): CompiledKey {
  return {
    columns: [`${column} as ${name}`],
    groups: [name],
    extra: [],
    order: [name],
    shown: [name],
    read: readValue,
    several: null,
  };
}

function readValue([value]: Row): GroupValue {
  return typeof value === "bigint" ? Number(value) : (value as GroupValue);
}

/** Returns the key of a field. Texts are folded once for a group, not for each event. */
function fieldKey(field: Exclude<GroupField, "tags">, i: number, bind: Binder): CompiledKey {
  const name = `k${i}`;
  if (field === "value") return single("value", name);
  if (field === "hash") return hashKey(name);
  const key = single(AS_GIVEN[field], name);
  if (!hasFolds(field, bind)) return { ...key, order: [`lower(${name})`, name] };
  return {
    ...key,
    columns: [...key.columns, `folded."${field}" as f${i}`],
    extra: [`f${i}`],
    order: [`coalesce(f${i}, lower(${name}))`, name],
  };
}

/** Groups by text instead of by hash. Hashes are computed once for a group. */
function hashKey(name: string): CompiledKey {
  const hash = textHashSql(name);
  return { ...single("text", name), order: [`lower(${hash})`, hash], shown: [hash] };
}

/** An event is in the group of each of its tags, or in that of "" if it has none. */
function tagKey(i: number, bind: Binder): CompiledKey {
  const [name, folded] = [`k${i}`, `f${i}`];
  return {
    ...single("''", name),
    columns: [`'' as ${name}`, `'' as ${folded}`],
    extra: [folded],
    order: [folded, name],
    several: {
      has: "(tags <> '')",
      list: `list_zip(${splitTagsSql("tags")}, ${splitTagsSql(foldedText("tags", bind))})`,
      columns: (each) => [`${each}[1] as ${name}`, `${each}[2] as ${folded}`],
    },
  };
}

/**
 * Returns the key of an attribute. A value is identified by its text, or by its number if only that
 * is stored; `f` is the folded text where `lower` would get it wrong.
 */
function attributeKey(field: AttributeField, i: number, bind: Binder): CompiledKey {
  const { number, text, others } = compileAttributeValues(field, bind);
  const [k, d, f] = [`k${i}`, `d${i}`, `f${i}`];
  if (others === null && number === null) return textKey(text, i);
  if (others === null && text === null) return { ...single(number!, d), read: readNumberText };
  const [asText, asNumber] = [text ?? "null::varchar", number ?? "null::double"];
  const key = {
    columns: [`${asText} as ${k}`, `${asNumber} as ${d}`, `null::varchar as ${f}`],
    groups: [k, d],
    extra: [f],
    order: [`if(${d} is null, coalesce(${f}, lower(${k})), null)`, d, `coalesce(${k}, ${plainText(d)})`],
    shown: [k, d],
    read: ([word, value]: Row) => (word ?? (value === null ? null : String(value))) as GroupValue,
  };
  if (others === null) return { ...key, several: null };
  // A number whose text has an exponent is grouped by that text, which does not spell a number.
  const plainNumber = "if(contains(each.t, 'e'), null, each.d)";
  const has = hasOthers(field, bind);
  const list = `list_distinct(list_transform(${others}, lambda each: {k: each.t, d: ${plainNumber}, f: each.f}))`;
  return {
    ...key,
    several: {
      has,
      list: `if(${has}, ${list}, [{k: ${asText}, d: ${asNumber}, f: null::varchar}])`,
      columns: (each) => [`${each}.k as ${k}`, `${each}.d as ${d}`, `${each}.f as ${f}`],
    },
  };
}

/** Returns the key of an attribute with only ASCII texts, or without values. */
function textKey(text: string | null, i: number): CompiledKey {
  const key = single(text ?? "null::varchar", `k${i}`);
  return { ...key, order: [`lower(k${i})`, `k${i}`] };
}

function readNumberText([value]: Row): GroupValue {
  return value === null ? null : String(value);
}

/** Degrees are grouped as numbers; their text is as JavaScript writes it. */
function placeKey(i: number): CompiledKey {
  const [lat, lon] = [`lat${i}`, `lon${i}`];
  return {
    columns: [`lat as ${lat}`, `lon as ${lon}`],
    groups: [lat, lon],
    extra: [],
    order: [lat, lon],
    shown: [lat, lon],
    read: (shown) => {
      const [south, west] = shown.map(Number);
      return keyOfPlace(shown[0] === null ? null : { lat: south!, lon: west! });
    },
    several: null,
  };
}

function bandKey({ of, bounds }: Bands, i: number, bind: Binder): CompiledKey {
  const name = `k${i}`;
  const parameters = bounds.map((bound) => bind.add(bound, DOUBLE));
  const band = (number: string): string => {
    const cases = parameters.map((bound, index) => `when ${number} < ${bound} then ${index}`);
    return `case when ${number} is null then null ${cases.join(" ")} else ${bounds.length} end`;
  };
  if (of === "value") return single(band("value"), name);
  const { number, others } = compileAttributeValues(of, bind);
  const one = number === null ? "null::integer" : band(number);
  if (others === null) return single(one, name);
  const has = hasOthers(of, bind);
  const numbers = `list_filter(${others}, lambda each: each.d is not null)`;
  const bands = `list_distinct(list_transform(${numbers}, lambda each: ${band("each.d")}))`;
  return {
    ...single(one, name),
    several: {
      has,
      list: `if(${has}, if(len(${bands}) = 0, [null::integer], ${bands}), [${one}])`,
      columns: (each) => [`${each} as ${name}`],
    },
  };
}

/**
 * Earlier than any time, before 1970. Times are shifted by it because DuckDB's integer division
 * would round negative numbers up.
 */
const BEFORE_ALL_MS = 100_000_001 * 86_400_000;

/**
 * Returns the key of periods, by number. If the clock repeats hours, it is twice the number, plus 1
 * for the second time.
 */
function periodKey(by: Period, i: number, where: Condition, bind: Binder): CompiledKey {
  const name = `k${i}`;
  const length_ms = periodLength(by)!;
  const origin_ms = periodOrigin(by);
  const early_ms = bind.schema.statistics.has("early") ? Math.ceil(BEFORE_ALL_MS / length_ms) * length_ms : 0;
  const length = bind.integer(length_ms);
  const stretches = stretchesIn(by, where);
  const number = ({ offset_ms }: OffsetPeriod): string => {
    const shift_ms = offset_ms + early_ms - origin_ms;
    return shift_ms === 0 ? `created // ${length}` : `(created + ${bind.integer(shift_ms)}) // ${length}`;
  };
  const start = (key: number): number => key * length_ms - early_ms + origin_ms;
  const readNumber = ([key]: Row): number => Number(key);
  if (!stretches.some(({ repeated }) => repeated)) {
    const key = single(byStretch(stretches, number, bind), name);
    return { ...key, read: (shown) => start(readNumber(shown)) };
  }
  const twice = byStretch(stretches, (stretch) => `2 * (${number(stretch)}) + ${stretch.repeated ? 1 : 0}`, bind);
  const read = (shown: Row): number => {
    const key = readNumber(shown);
    return start(Math.floor(key / 2)) + (key % 2) * REPEATED;
  };
  return { ...single(twice, name), read };
}

/** Returns at least one stretch: a range that ends before it begins has none. */
function stretchesIn(by: Period, where: Condition): readonly OffsetPeriod[] {
  const stretches = offsetPeriodsFor(by, ...conditionTimeBounds(where));
  return stretches.length > 0 ? stretches : offsetPeriodsFor(by).slice(0, 1);
}

/** Months of the clock, numbered from the year 0. */
function monthKey(by: Period, i: number, where: Condition, bind: Binder): CompiledKey {
  const stretches = stretchesIn(by, where);
  const month = ({ offset_ms }: OffsetPeriod): string => {
    const local = `epoch_ms(created + ${bind.integer(offset_ms)})`;
    return `12 * year(${local}) + month(${local}) - 1`;
  };
  const read = ([key]: Row): number => {
    const year = Math.floor(Number(key) / 12);
    return utcMidnight(year, Number(key) - 12 * year + 1, 1);
  };
  return { ...single(byStretch(stretches, month, bind), `k${i}`), read };
}

/** Returns `of` of the stretch that an event is in, as a binary search in SQL. */
function byStretch(stretches: readonly OffsetPeriod[], of: (stretch: OffsetPeriod) => string, bind: Binder): string {
  if (stretches.length === 1) return of(stretches[0]!);
  const middle = stretches.length >> 1;
  const [before, after] = [stretches.slice(0, middle), stretches.slice(middle)];
  const isBefore = `created < ${bind.integer(after[0]!.from_ms)}`;
  return `case when ${isBefore} then ${byStretch(before, of, bind)} else ${byStretch(after, of, bind)} end`;
}
