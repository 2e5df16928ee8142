import { DOUBLE } from "@duckdb/node-api";

import { mapKeywords } from "../../../events/map-keywords.ts";
import { LEVELS, tagsFromRank } from "../../../events/level.ts";
import { fold } from "../../../events/text.ts";
import type { EventId } from "../../../events/id.ts";
import { parseEventId } from "../../../events/id.ts";
import { EARTH_RADIUS_KM, isAttribute } from "../../../query/plan.ts";
import type { Comparison, ComparisonOp, Condition, DataSearch, NumberField, TextField } from "../../../query/plan.ts";
import { quoteExpression } from "../../../query/regex/regex.ts";
import { attributeAbsent, attributeNumber, attributeText } from "./attribute.ts";
import type { TextComparison } from "./attribute.ts";
import { unknown } from "./binder.ts";
import type { Binder } from "./binder.ts";
import { toRe2 } from "./regexp.ts";
import type { Re2Expression } from "./regexp.ts";
import { splitId, TAG_SEPARATOR } from "../database/schema.ts";

/** Returns SQL of several conditions, none of which is NULL. */
type Join = (word: "and" | "or", conditions: readonly string[]) => string;

/**
 * Compiles a condition to SQL from its comparisons. The result is never NULL, so that `not` is the
 * plain complement.
 * @param compare compiles a comparison, never to NULL
 */
export function joinedConditions<Field extends string>(
  where: Condition<Field>,
  compare: (comparison: Comparison<Field>) => string,
  join: Join = byWord,
): string {
  if (where.kind === "not") return `not ${joinedConditions(where.condition, compare, join)}`;
  if (where.kind !== "and" && where.kind !== "or") return compare(where);
  if (where.conditions.length === 0) return where.kind === "and" ? "true" : "false";
  return join(
    where.kind,
    where.conditions.map((part) => joinedConditions(part, compare, join)),
  );
}

/** Compiles a condition on events to SQL. */
export function condition(where: Condition, bind: Binder, join: Join = byWord): string {
  return joinedConditions(where, (each) => comparison(each, bind), join);
}

function comparison(where: Comparison, bind: Binder): string {
  switch (where.kind) {
    case "text":
    case "in":
    case "contains":
    case "matches":
      if (where.field === "data") return searchData(where as DataSearch, bind);
      return isAttribute(where.field)
        ? attributeText(where.field, where, bind)
        : compareColumn(textFieldOf(where.field), where, bind);
    case "number":
      return isAttribute(where.field)
        ? attributeNumber(where.field, where, bind)
        : compareNumber(where.field, where, bind);
    case "absent":
      return isAttribute(where.field) ? attributeAbsent(where.field, bind) : absent(where.field);
    case "geo-within":
      return isWithinPlace(where, bind);
    case "geo-near":
      return isNearPlace(where, bind);
    case "accepted-after": {
      const { hi, lo } = splitId(where.id);
      const high = bind.unsigned(hi);
      return `(id_hi >= ${high} and (id_hi > ${high} or id_lo > ${bind.unsigned32(lo)}))`;
    }
  }
  throw unknown(where satisfies never);
}

const byWord: Join = (word, conditions) => `(${conditions.join(` ${word} `)})`;

/** Nesting from which DuckDB plans a column of conditions in seconds, by a power of the nesting. */
const DEEP = 8;

/** Compiles a condition to SQL for a column. */
export function conditionColumn(where: Condition, bind: Binder): string {
  return condition(where, bind, nestingOf(where) > DEEP ? byCase : byWord);
}

/** Joins conditions so that DuckDB does not look for parts that several of them share. */
const byCase: Join = (word, conditions) => {
  const [decisive, otherwise] = word === "and" ? ["not ", "true"] : ["", "false"];
  const cases = conditions.map((each) => `when ${decisive}${each} then ${word === "or"}`);
  return `(case ${cases.join(" ")} else ${otherwise} end)`;
};

function nestingOf(where: Condition): number {
  if (where.kind === "not") return 1 + nestingOf(where.condition);
  if (where.kind !== "and" && where.kind !== "or") return 0;
  return 1 + where.conditions.reduce((most, part) => Math.max(most, nestingOf(part)), 0);
}

function compareColumn(field: TextField, where: TextComparison, bind: Binder): string {
  switch (where.kind) {
    case "text":
      return compareText(field, where.op, where.value, bind);
    case "in":
      return isOneOf(field, where.values, bind);
    case "contains":
      return contains(field, where.value, bind);
    case "matches":
      return matches(field, where.pattern, bind);
  }
  throw unknown(where satisfies never);
}

/** Returns SQL for what `hashText` returns. */
export function textHashSql(text: string): string {
  return `to_base64(unhex(left(sha256(${text}), 32)))`;
}

/** Exact texts; "" if absent. Tags are one text, see {@link tagLine}. */
export const AS_GIVEN: Record<TextField, string> = {
  ...mapKeywords((name) => `"${name}"`),
  id: "(lpad(lower(to_hex(id_hi)), 16, '0') || lpad(lower(to_hex(id_lo)), 8, '0'))",
  text: "text",
  hash: textHashSql("text"),
  pattern: "pattern",
  log: "log",
  class: "coalesce(class, '')",
  tags: "tags",
};

/** Texts in lower case: their folded form unless `folded` holds another. */
const LOWER: Record<TextField, string> = {
  ...mapKeywords((name) => `lower("${name}")`),
  id: AS_GIVEN.id,
  pattern: "lower(pattern)",
  text: "lower(text)",
  hash: `lower(${textHashSql("text")})`,
  log: "lower(log)",
  class: "coalesce(lower(class), '')",
  tags: "lower(tags)",
};

export function foldedText(field: TextField, bind: Binder): string {
  const isLower = field === "user" && !bind.schema.statistics.has("upper-user");
  const lower = isLower ? AS_GIVEN.user : LOWER[field];
  return hasFolds(field, bind) ? `coalesce(folded."${field}", ${lower})` : lower;
}

export function hasFolds(field: TextField, { schema }: Binder): boolean {
  return field !== "id" && field !== "hash" && field !== "log" && schema.statistics.has(field);
}

/** SQL for the texts of a column: as posted, "" if absent; folded; and whether they are absent. */
export type TextColumn = { readonly given: string; readonly folded: string; readonly absent: string };

/** Compares the texts of a column. */
export function compareTexts(column: TextColumn, where: TextComparison<string>, bind: Binder): string {
  switch (where.kind) {
    case "text":
      return compareFolded(column, where.op, where.value, bind);
    case "in":
      return isOneOfFolded(column, where.values, bind);
    case "contains":
      return `contains(${column.folded}, ${bind.text(fold(where.value))})`;
    case "matches": {
      const expression = toRe2(where.pattern);
      return expression === null ? "false" : matchesText(column.given, expression, bind);
    }
  }
  throw unknown(where satisfies never);
}

function compareFolded({ folded, absent }: TextColumn, op: ComparisonOp, value: string, bind: Binder): string {
  if (op === "=" && value === "") return absent;
  const test = `${folded} ${op} ${bind.text(value)}`;
  const isOfPresent = value !== "" && (op === "=" || op === ">" || op === ">=");
  return isOfPresent ? test : `(${folded} <> '' and ${test})`;
}

function isOneOfFolded({ folded, absent }: TextColumn, values: readonly string[], bind: Binder): string {
  const present = values.filter((value) => value !== "");
  const isOne = `${folded} in (${present.map((value) => bind.text(value)).join(", ")})`;
  return anyOf([...(values.includes("") ? [absent] : []), ...(present.length > 0 ? [isOne] : [])]);
}

function anyOf(alternatives: readonly string[]): string {
  return alternatives.length === 0 ? "false" : `(${alternatives.join(" or ")})`;
}

function textColumn(field: TextField, bind: Binder): TextColumn {
  return { given: AS_GIVEN[field], folded: foldedText(field, bind), absent: absent(field) };
}

function compareText(field: TextField, op: ComparisonOp, value: string, bind: Binder): string {
  if (op === "=" && value === "") return absent(field);
  if (op === "=" && field === "id") {
    const id = parseEventId(value);
    return id === null ? "false" : isId(id, bind);
  }
  if (op === "=" && field === "tags") return hasTag(value, bind);
  if (field !== "tags") return compareFolded(textColumn(field, bind), op, value, bind);
  const parameter = bind.text(value);
  return someTag(foldedText(field, bind), (tag) => `${tag} ${op} ${parameter}`);
}

function isOneOf(field: TextField, values: readonly string[], bind: Binder): string {
  if (field !== "id" && field !== "tags") return isOneOfFolded(textColumn(field, bind), values, bind);
  return anyOf(values.map((value) => compareText(field, "=", value, bind)));
}

/** @param value not empty */
function contains(field: TextField, value: string, bind: Binder): string {
  const folded = fold(value);
  if (field === "tags" && folded.includes(TAG_SEPARATOR)) return "false";
  const fixed = field === "text" ? longestWithoutCase(folded) : "";
  // Characters fold one by one, and none folds to an ASCII character without case.
  if (fixed === folded) return `contains(text, ${bind.text(folded)})`;
  const first = fixed.length < FIXED || fixed.trim() === "" ? "" : `contains(text, ${bind.text(fixed)}) and `;
  return `(${first}contains(${foldedText(field, bind)}, ${bind.text(folded)}))`;
}

/** Shorter parts occur in too many texts to be worth a separate test. */
const FIXED = 3;

/** Returns the longest part of ASCII characters without case, such as digits. */
function longestWithoutCase(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const parts = text.match(/[\x00-@[-`{-\x7f]+/g) ?? [];
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

function matches(field: TextField, pattern: string, bind: Binder): string {
  const expression = toRe2(pattern);
  if (expression === null) return "false";
  if (field !== "tags") return matchesText(AS_GIVEN[field], expression, bind);
  const parameter = bind.text(expression.pattern);
  return someTag("tags", (tag) => `regexp_matches(${tag}, ${parameter})`);
}

/**
 * Matches texts as posted. Characters without case that every match contains, such as digits, are
 * tested first, which is cheaper than the expression.
 */
function matchesText(text: string, expression: Re2Expression, bind: Binder): string {
  // DuckDB pushes a condition on a single column into the scan, which then reads other columns only
  // near matches.
  const conditions = expression.matchesEmpty ? [`${text} <> ''`] : [];
  if (expression.fixed !== null) conditions.push(`contains(${text}, ${bind.text(expression.fixed)})`);
  return `(${[...conditions, `regexp_matches(${text}, ${bind.text(expression.pattern)})`].join(" and ")})`;
}

/** Searches data as posted: unlike other texts, it has no folded form. */
function searchData(where: DataSearch, bind: Binder): string {
  const expression = toRe2(where.kind === "matches" ? where.pattern : quoteExpression(where.value));
  return expression === null ? "false" : `(data is not null and ${matchesText("data", expression, bind)})`;
}

function hasTag(tag: string, bind: Binder): string {
  if (tag.includes(TAG_SEPARATOR)) return "false";
  return `contains(${foldedText("tags", bind)}, ${bind.text(TAG_SEPARATOR + tag + TAG_SEPARATOR)})`;
}

/** Returns SQL for the rank of an event's level, an integer. */
export function levelRank(bind: Binder): string {
  const names = (rank: number): string => condition({ kind: "in", field: "tags", values: tagsFromRank(rank) }, bind);
  const cases = LEVELS.slice(1).map((_, below) => `when not ${names(below + 1)} then ${below}`);
  return `case when tags = '' then 0 ${cases.join(" ")} else ${LEVELS.length - 1} end`;
}

function someTag(line: string, test: (tag: string) => string): string {
  return `(tags <> '' and len(list_filter(${splitTagsSql(line)}, lambda tag: ${test("tag")})) > 0)`;
}

/** Returns the tags of a line as a list; a list of "" if there are none. */
export function splitTagsSql(line: string): string {
  return `string_split(trim(${line}, '${TAG_SEPARATOR}'), '${TAG_SEPARATOR}')`;
}

export function isId(id: EventId, bind: Binder): string {
  const { hi, lo } = splitId(id);
  return `(id_hi = ${bind.unsigned(hi)} and id_lo = ${bind.unsigned32(lo)})`;
}

type NumberComparison<Field extends string> = Extract<Comparison<Field>, { kind: "number" }>;

function compareNumber(field: TextField | NumberField, where: NumberComparison<string>, bind: Binder): string {
  if (field === "created") return compareInteger("created", where, bind);
  const { op, value } = where;
  if (field === "value") return `(value is not null and value ${op} ${bind.add(value, DOUBLE)})`;
  throw new TypeError(`${field} is not a number field`);
}

/**
 * Compares a column of integers. Integer bounds let the scan skip row groups. Fractions use floating
 * point, which is exact for times and counts.
 */
export function compareInteger(column: string, { op, value }: NumberComparison<string>, bind: Binder): string {
  return Number.isSafeInteger(value)
    ? `(${column} ${op} ${bind.integer(value)})`
    : `(${column}::double ${op} ${bind.add(value, DOUBLE)})`;
}

function absent(field: TextField | NumberField | "geo" | "data"): string {
  if (field === "created" || field === "id" || field === "hash") return "false";
  if (field === "value") return "(value is null)";
  if (field === "geo") return "(lat is null and ip is null)";
  if (field === "data") return "(coalesce(data, '') = '')";
  return `(${AS_GIVEN[field]} = '')`;
}

function textFieldOf(field: TextField | NumberField): TextField {
  if (field === "created" || field === "value") throw new TypeError(`${field} is not a text field`);
  return field;
}

type Place<Kind> = Extract<Condition, { kind: Kind }>;

function isWithinPlace({ south, west, north, east }: Place<"geo-within">, bind: Binder): string {
  const [from, to] = [bind.add(west, DOUBLE), bind.add(east, DOUBLE)];
  const between = west <= east ? `lon >= ${from} and lon <= ${to}` : `(lon >= ${from} or lon <= ${to})`;
  return `(lat is not null and lat >= ${bind.add(south, DOUBLE)} and lat <= ${bind.add(north, DOUBLE)} and ${between})`;
}

/** Uses the haversine formula. */
function isNearPlace({ lat, lon, km }: Place<"geo-near">, bind: Binder): string {
  const [north, east] = [bind.add(lat, DOUBLE), bind.add(lon, DOUBLE)];
  const h = `pow(sin(radians(lat - ${north}) / 2), 2)
    + cos(radians(${north})) * cos(radians(lat)) * pow(sin(radians(lon - ${east}) / 2), 2)`;
  const distance_km = `${bind.add(2 * EARTH_RADIUS_KM, DOUBLE)} * asin(least(1, sqrt(${h})))`;
  return `(lat is not null and ${distance_km} <= ${bind.add(km, DOUBLE)})`;
}
