import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import { FILTERED_FIELDS } from "../events/keywords.ts";
import type { FilteredField } from "../events/keywords.ts";
import { LEVEL_WORDS } from "../events/level.ts";
import { parseEventId } from "../events/id.ts";
import { shorten } from "../events/quote.ts";
import { characters, fold, wellFormed } from "../events/text.ts";
import { equalsAttribute } from "./attributes.ts";
import { MOMENT_LIMIT } from "./calendar.ts";
import { writeAttribute } from "./lexer.ts";
import { compareLevel, rankOfLevel } from "./levels.ts";
import { badParameter } from "./parameters.ts";
import { EVERYTHING, freezePlan } from "./plan.ts";
import type { Condition, ListPlan, SortKey, RecordSource, UsersPlan } from "./plan.ts";
import { checkExpression, matchCondition } from "./regex/regex.ts";

const PAGE_SIZE = { default: 100, limit: 500 };
const PAGE_LIMIT = 2_000_000;
/** Longest value of a filter, in characters. Fields that filters compare are not longer. */
const VALUE_LIMIT = 1000;
const ATTRIBUTE = "attr.";
/** Most attributes that a list compares. Each is work for the engine. */
const MOST_ATTRIBUTES = 100;
/** The same for attributes, independent of the service's limits. */
const ATTRIBUTE_VALUE_LIMIT = 32_768;

const FILTERS: ReadonlySet<string> = new Set([
  "tags",
  "text",
  "sinceid",
  ...FILTERED_FIELDS,
  "class",
  "level",
  "created",
]);

/** Returns whether a parameter filters the events of a list. */
export function isFilter(name: string): boolean {
  return FILTERS.has(name) || name.startsWith(ATTRIBUTE);
}

/**
 * Returns the plan for the parameters of a list: `pagenum`, `pagesize`, `order`, `tags`, `text`,
 * `sinceid`, filtered keywords, `class`, `level`, `created` and `attr.<name>` for each attribute.
 * Others are ignored, an empty one counts as absent, and the first of a repeated one counts. An empty
 * `attr.<name>` matches the empty text; a repeated one is an error. With `sinceid` the list is in
 * order of acceptance, otherwise of `created`.
 *
 * @throws LoggiaError `bad_parameter` that names the parameter, its value, and what is allowed
 */
export function planFilters(
  parameters: URLSearchParams,
  list: { from: RecordSource; logs: readonly LogKey[] },
): ListPlan {
  const read = (name: string): string | null => readParameter(parameters, name);
  const conditions = [
    ...readTags(read("tags")),
    ...readExpression(read("text")),
    ...readSinceId(read("sinceid")),
    ...FILTERED_FIELDS.flatMap((name) => readEqual(name, read(name))),
    ...readEqual("class", read("class")),
    ...readLevel(read("level")),
    ...readCreated(read("created")),
    ...readAttributes(parameters),
  ];
  return freezePlan({
    kind: "list",
    from: { ...list.from },
    logs: [...list.logs],
    where:
      conditions.length === 0 ? EVERYTHING : conditions.length === 1 ? conditions[0]! : { kind: "and", conditions },
    sort: readOrder(read("order"), read("sinceid") === null ? "created" : "id"),
    ...readPage(read),
    columns: null,
  });
}

/**
 * Returns the plan for the parameters of a list of tracked users, `pagenum` and `pagesize`. Users
 * are ordered by name.
 *
 * @throws LoggiaError `bad_parameter` that names the parameter, its value, and what is allowed
 */
export function planUserPage(parameters: URLSearchParams, logs: readonly LogKey[]): UsersPlan {
  return freezePlan({
    kind: "users",
    logs: [...logs],
    where: EVERYTHING,
    sort: [{ field: "user", direction: "asc" }],
    ...readPage((name) => readParameter(parameters, name)),
    columns: null,
  });
}

function readPage(read: (name: string) => string | null): { skip: number; take: number } {
  const page = readWhole("pagenum", read("pagenum"), 1, PAGE_LIMIT);
  const size = readWhole("pagesize", read("pagesize"), PAGE_SIZE.default, PAGE_SIZE.limit);
  return { skip: (page - 1) * size, take: size };
}

function readParameter(parameters: URLSearchParams, name: string): string | null {
  const value = checkedValue(name, parameters.get(name) ?? "", VALUE_LIMIT);
  return value === "" ? null : value;
}

function checkedValue(name: string, given: string, limit: number): string {
  const value = wellFormed(given);
  if (value.length <= limit || characters(value) <= limit) return value;
  throw badParameter(name, value, `at most ${limit} characters`);
}

function readWhole(name: string, value: string | null, otherwise: number, limit: number): number {
  if (value === null) return otherwise;
  const number = /^\d{1,10}$/.test(value) ? Number(value) : NaN;
  if (number >= 1 && number <= limit) return number;
  throw badParameter(name, value, `a whole number from 1 to ${limit.toLocaleString("en-US")}`);
}

function readOrder(value: string | null, field: "created" | "id"): SortKey[] {
  const direction = value?.toLowerCase() ?? "asc";
  if (direction !== "asc" && direction !== "desc") throw badParameter("order", value!, "asc or desc");
  return direction === "asc" && field === "created" ? [] : [{ field, direction }];
}

function readTags(value: string | null): Condition[] {
  const tags = new Set(
    (value ?? "")
      .split(/\s+/)
      .filter((tag) => tag !== "")
      .map(fold),
  );
  return [...tags].map((tag) => ({ kind: "text", field: "tags", op: "=", value: tag }));
}

function readExpression(value: string | null): Condition[] {
  if (value === null) return [];
  const expression = checkExpression(value);
  if (expression.kind === "ok") return [matchCondition("text", value)];
  const position = Array.from(value.slice(0, expression.at)).length + 1;
  throw badParameter("text", value, `an RE2 expression; at character ${position}: ${expression.reason}`);
}

function readSinceId(value: string | null): Condition[] {
  if (value === null) return [];
  const id = parseEventId(value);
  if (id === null) throw badParameter("sinceid", value, "the id of an event: 24 hex digits");
  return [{ kind: "accepted-after", id }];
}

function readEqual(field: FilteredField | "class", value: string | null): Condition[] {
  return value === null ? [] : [{ kind: "text", field, op: "=", value: fold(value) }];
}

function readLevel(value: string | null): Condition[] {
  if (value === null) return [];
  const rank = rankOfLevel(value);
  if (rank === null) throw badParameter("level", value, `one of ${LEVEL_WORDS.join(", ")}`);
  return [compareLevel("=", rank)];
}

/**
 * Reads the attributes; the name is everything after `attr.`. A repeated attribute is ambiguous
 * (any or all of the values), so it is an error.
 */
function readAttributes(parameters: URLSearchParams): Condition[] {
  const values = new Map<string, string>();
  for (const [name, given] of parameters) {
    if (!name.startsWith(ATTRIBUTE)) continue;
    const value = checkedValue(name, given, ATTRIBUTE_VALUE_LIMIT);
    if (name === ATTRIBUTE) throw badParameter(name, value, "attr.<name>, with the name of an attribute");
    if (values.has(name)) throw repeatedAttribute(name);
    if (values.size === MOST_ATTRIBUTES) throw tooManyAttributes();
    values.set(name, value);
  }
  return [...values].map(([name, value]) => equalsAttribute(`@${wellFormed(name.slice(ATTRIBUTE.length))}`, value));
}

function tooManyAttributes(): LoggiaError {
  const what = `There are more parameters attr.<name> than the ${MOST_ATTRIBUTES} allowed`;
  return new LoggiaError("bad_parameter", `${what}; to compare one attribute with several values, use a query with IN`);
}

function repeatedAttribute(name: string): LoggiaError {
  const attribute = shorten(writeAttribute(wellFormed(name.slice(ATTRIBUTE.length))));
  return new LoggiaError(
    "bad_parameter",
    `The parameter ${shorten(name)} occurs more than once; to match one of several values, use a query: ` +
      `GET events WHERE ${attribute} IN ('a', 'b')`,
  );
}

function readCreated(value: string | null): Condition[] {
  const { from, to } = readMoments(value);
  const conditions: Condition[] = [];
  if (from !== null) conditions.push({ kind: "number", field: "created", op: ">=", value: from });
  if (to !== null) conditions.push({ kind: "number", field: "created", op: "<", value: to });
  return conditions;
}

/** From (inclusive) to (exclusive), in milliseconds since the Unix epoch; null: no bound. */
type Moments = { readonly from: number | null; readonly to: number | null };

/** Returns the range of the parameter `created`. @throws LoggiaError `bad_parameter` */
export function readRange(parameters: URLSearchParams): Moments {
  return readMoments(readParameter(parameters, "created"));
}

/** Reads `<ms>`, `<ms>:`, `<ms>:<ms>` or `:<ms>`. */
function readMoments(value: string | null): Moments {
  if (value === null) return { from: null, to: null };
  const [, ...parts] = /^(-?\d{1,16})?(?::(-?\d{1,16})?)?$/.exec(value) ?? [];
  const [from = null, to = null] = parts.map((part) => (part === undefined ? null : Number(part)));
  const areMoments = [from, to].every((bound) => bound === null || Math.abs(bound) <= MOMENT_LIMIT);
  const areInOrder = from === null || to === null || from <= to;
  if ((from !== null || to !== null) && areMoments && areInOrder) return { from, to };
  throw badParameter(
    "created",
    value,
    "<ms>, <ms>:<ms> (the earlier first) or :<ms>, in milliseconds since 1970-01-01 UTC",
  );
}
