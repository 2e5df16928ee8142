import { DOUBLE, VARCHAR } from "@duckdb/node-api";
import type { DuckDBType } from "@duckdb/node-api";

import { fold } from "../../events/text.ts";
import type { LogKey } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import { parseEventId } from "../../events/id.ts";
import { LoggiaError } from "../../errors.ts";
import type {
  ComparisonOp,
  Condition,
  ConditionField,
  Direction,
  ListPlan,
  NumberField,
  SortField,
  SortKey,
  Source,
  TextField,
} from "../../query/plan.ts";
import { FACTS, FOLDED_FIELDS } from "./facts.ts";
import type { Known } from "./facts.ts";
import { toRe2 } from "./regexp.ts";
import { splitId, TAG_SEPARATOR } from "./schema.ts";

/** SQL with its parameters. Of what a caller said, only numbers and checked keys of logs become part of the text: no parameters, no second planning. */
export type Statement = {
  readonly sql: string;
  readonly values: readonly (string | number | bigint)[];
  readonly types: readonly DuckDBType[];
};

/** A span of `created`, in milliseconds since the Unix epoch; `to` is not part of it. */
export type Span = { readonly from: bigint; readonly to: bigint };

/** Reckons with all that may be true of some event, and knows no log. */
const ALL: Known = { facts: new Set(FACTS), logs: new Map() };

type Filter = Pick<ListPlan, "from" | "logs" | "where">;

/** What a row of a list is made of; read by `toRow`. `hash` and `id` come as they were given. */
const ROW = `id_hi, id_lo, created, log, text, link, hash, tags, source, "user", class, value, lat, lon, ip, data is not null`;

/** How many records a plan finds. */
export function compileCount(plan: Filter, known: Known): Statement {
  const bind = new Binder(known);
  return bind.statement(`select count(*) from events where ${filter(plan, bind)}`);
}

/** How many records a plan finds in each slice of 2^`shift` milliseconds of `created`, in the order of time. */
export function compileSlices(plan: Filter, shift: number, known: Known): Statement {
  const bind = new Binder(known);
  const where = filter(plan, bind);
  return bind.statement(
    `select created >> ${bind.integer(shift)} as slice, count(*) from events where ${where} group by slice order by slice`,
  );
}

/** A page of a plan. `span` narrows it to where the page lies, and `skip` counts from there. */
export function compilePage(plan: ListPlan, skip: number, span: Span | null, known: Known): Statement {
  const bind = new Binder(known);
  const within = span === null ? "" : `and ${isWithin(span, bind)}`;
  return bind.statement(
    `select ${ROW} from events where ${filter(plan, bind)} ${within}
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(skip)}`,
  );
}

/** The same page, taken from a span that may be too narrow for it. In each row the number of all that the plan finds stands last. */
export function compileNear(plan: ListPlan, span: Span, known: Known): Statement {
  const bind = new Binder(known);
  const where = filter(plan, bind);
  return bind.statement(
    `select ${ROW}, (select count(*) from events where ${where})
     from events where ${where} and ${isWithin(span, bind)}
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(plan.skip)}`,
  );
}

function isWithin({ from, to }: Span, bind: Binder): string {
  return `created >= ${bind.big(from)} and created < ${bind.big(to)}`;
}

/**
 * The same page in one pass that ends once it has found `most` records: where there are fewer, they are all. In each row the number that it has found stands last.
 */
export function compileFew(plan: ListPlan, most: number, known: Known): Statement {
  const bind = new Binder(known);
  return bind.statement(
    `select * exclude (folded), count(*) over ()
     from (select ${ROW} as has_data, ${hasAnyFolds(bind) ? "folded" : "null as folded"} from events where ${filter(plan, bind)} limit ${bind.integer(most)})
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(plan.skip)}`,
  );
}

/** One record of one log. */
export function compileFind(from: Source, log: LogKey, id: EventId): Statement {
  const bind = new Binder();
  return bind.statement(
    `select ${ROW} from events where ${isId(id, bind)} and log = ${quoted(log)} and ${source(from, bind)}`,
  );
}

export function filter(plan: Filter, bind: Binder): string {
  const numbers = plan.logs.flatMap((log) => bind.known.logs.get(log) ?? []);
  const logs = numbers.length === 0 ? "false" : `log_number in (${numbers.join(", ")})`;
  return `${logs} and ${source(plan.from, bind)} and ${condition(plan.where, bind)}`;
}

/** @throws TypeError where it is no log's key, which holds letters, digits and hyphens alone */
export function quoted(log: LogKey): string {
  if (!/^[a-z0-9-]+$/.test(log)) throw new TypeError(`${JSON.stringify(log)} is no key of a log`);
  return `'${log}'`;
}

function source(from: Source, bind: Binder): string {
  switch (from.kind) {
    case "events":
      return "true";
    case "bookmarks":
      return `(id_hi, id_lo) in (select (id_hi, id_lo) from bookmarks where user_id = ${bind.text(from.user)})`;
    case "alerts":
      return `(id_hi, id_lo) in (select (id_hi, id_lo) from alerts where user_id = ${bind.text(from.user)} and not deleted)`;
  }
  throw unknown(from satisfies never);
}

/** A condition in SQL. It is never NULL, so that `not` is the plain complement. */
function condition(where: Condition, bind: Binder): string {
  switch (where.kind) {
    case "and":
      return joined(where.conditions, "and", "true", bind);
    case "or":
      return joined(where.conditions, "or", "false", bind);
    case "not":
      return `not ${condition(where.condition, bind)}`;
    case "text":
      return compareText(textField(where.field), where.op, where.value, bind);
    case "in":
      return isOneOf(textField(where.field), where.values, bind);
    case "number":
      return compareNumber(columnOf(where.field), where.op, where.value, bind);
    case "contains":
      return contains(textField(where.field), where.value, bind);
    case "matches":
      return matches(textField(where.field), where.pattern, bind);
    case "absent":
      return absent(columnOf(where.field));
    case "geo-within":
    case "geo-near":
      throw unsupported("Places cannot be asked for yet");
    case "accepted-after": {
      const { hi, lo } = splitId(where.id);
      const high = bind.unsigned(hi);
      return `(id_hi >= ${high} and (id_hi > ${high} or id_lo > ${bind.unsigned32(lo)}))`;
    }
  }
  throw unknown(where satisfies never);
}

function joined(conditions: readonly Condition[], word: "and" | "or", empty: string, bind: Binder): string {
  if (conditions.length === 0) return empty;
  return `(${conditions.map((part) => condition(part, bind)).join(` ${word} `)})`;
}

/** Texts as they were given; "" where absent. Tags stand in one text, see {@link tagLine}. */
/** Fields that hold text and have a column of their own. */
export type Column = Exclude<TextField, "pattern">;

export const AS_GIVEN: Record<Column, string> = {
  id: "(lpad(lower(to_hex(id_hi)), 16, '0') || lpad(lower(to_hex(id_lo)), 8, '0'))",
  text: "text",
  link: "link",
  hash: "hash",
  source: "source",
  log: "log",
  class: "coalesce(class, '')",
  user: '"user"',
  tags: "tags",
};

/** The same in lower case, which is what they are folded unless `folded` holds something else. */
const LOWER: Record<Column, string> = {
  id: AS_GIVEN.id,
  text: "lower(text)",
  link: "lower(link)",
  hash: "lower(hash)",
  source: "lower(source)",
  log: "lower(log)",
  class: "coalesce(lower(class), '')",
  user: 'lower("user")',
  tags: "lower(tags)",
};

function foldedText(field: Column, bind: Binder): string {
  return hasFolds(field, bind) ? `coalesce(folded."${field}", ${LOWER[field]})` : LOWER[field];
}

export function hasFolds(field: Column, { known }: Binder): boolean {
  return field !== "id" && field !== "hash" && field !== "log" && known.facts.has(field);
}

function hasAnyFolds({ known }: Binder): boolean {
  return FOLDED_FIELDS.some((field) => known.facts.has(field));
}

function compareText(field: Column, op: ComparisonOp, value: string, bind: Binder): string {
  if (op === "=" && value === "") return absent(field);
  if (op === "=" && field === "id") {
    const id = parseEventId(value);
    return id === null ? "false" : isId(id, bind);
  }
  if (op === "=" && field === "tags") return hasTag(value, bind);
  const parameter = bind.text(value);
  const test = (text: string): string => `${text} ${op} ${parameter}`;
  if (field === "tags") return someTag(foldedText(field, bind), test);
  const text = foldedText(field, bind);
  const isOfPresent = value !== "" && (op === "=" || op === ">" || op === ">=");
  return isOfPresent ? test(text) : `(${text} <> '' and ${test(text)})`;
}

function isOneOf(field: Column, values: readonly string[], bind: Binder): string {
  const alternatives = values.includes("") ? [absent(field)] : [];
  const present = values.filter((value) => value !== "");
  if (field === "id" || field === "tags") {
    alternatives.push(...present.map((value) => compareText(field, "=", value, bind)));
  } else if (present.length > 0) {
    alternatives.push(`${foldedText(field, bind)} in (${present.map((value) => bind.text(value)).join(", ")})`);
  }
  return alternatives.length === 0 ? "false" : `(${alternatives.join(" or ")})`;
}

/** @param value not empty */
function contains(field: Column, value: string, bind: Binder): string {
  const folded = fold(value);
  if (field === "tags" && folded.includes(TAG_SEPARATOR)) return "false";
  return `contains(${foldedText(field, bind)}, ${bind.text(folded)})`;
}

/**
 * Texts are looked at as they were given. Where the expression fixes characters that have no case, such as digits, they are looked for first: that
 * costs half as much as the expression.
 */
function matches(field: Column, pattern: string, bind: Binder): string {
  const expression = toRe2(pattern);
  if (expression === null) return "false";
  const parameter = bind.text(expression.pattern);
  const test = (text: string): string => `regexp_matches(${text}, ${parameter})`;
  if (field === "tags") return someTag("tags", test);
  const text = AS_GIVEN[field];
  // One condition on one column is left to the scan, which then reads other columns only around the rows that it finds.
  const conditions = expression.matchesEmpty ? [`${text} <> ''`] : [];
  if (expression.fixed !== null) conditions.push(`contains(${text}, ${bind.text(expression.fixed)})`);
  return `(${[...conditions, test(text)].join(" and ")})`;
}

function hasTag(tag: string, bind: Binder): string {
  if (tag.includes(TAG_SEPARATOR)) return "false";
  return `contains(${foldedText("tags", bind)}, ${bind.text(TAG_SEPARATOR + tag + TAG_SEPARATOR)})`;
}

function someTag(line: string, test: (tag: string) => string): string {
  return `(tags <> '' and len(list_filter(${tagsOf(line)}, lambda tag: ${test("tag")})) > 0)`;
}

/** The tags of a line as a list, of "" alone where there are none. */
export function tagsOf(line: string): string {
  return `string_split(trim(${line}, '${TAG_SEPARATOR}'), '${TAG_SEPARATOR}')`;
}

function isId(id: EventId, bind: Binder): string {
  const { hi, lo } = splitId(id);
  return `(id_hi = ${bind.unsigned(hi)} and id_lo = ${bind.unsigned32(lo)})`;
}

function compareNumber(field: Column | NumberField, op: ComparisonOp, value: number, bind: Binder): string {
  if (field === "created") {
    // Compared as integers, a bound lets the scan skip; a fraction is left to floating point, which is exact for times.
    return Number.isSafeInteger(value)
      ? `(created ${op} ${bind.integer(value)})`
      : `(created::double ${op} ${bind.add(value, DOUBLE)})`;
  }
  if (field === "value") return `(value is not null and value ${op} ${bind.add(value, DOUBLE)})`;
  throw new TypeError(`${field} does not hold a number`);
}

function absent(field: Column | NumberField | "geo" | "data"): string {
  switch (field) {
    case "created":
      return "false";
    case "value":
      return "(value is null)";
    case "geo":
      return "(lat is null and ip is null)";
    case "data":
      return "(coalesce(data, '') = '')";
    case "id":
      return "false";
    case "tags":
    case "text":
    case "link":
    case "hash":
    case "source":
    case "log":
    case "class":
    case "user":
      return `(${AS_GIVEN[field]} = '')`;
  }
  throw unknown(field satisfies never);
}

function textField(field: ConditionField): Column {
  if (field === "created" || field === "value") throw new TypeError(`${field} does not hold a text`);
  return columnOf(field);
}

/** @throws LoggiaError `unsupported` */
export function columnOf<Field extends string>(field: Field): Exclude<Field, "pattern" | `@${string}`> {
  if (field === "pattern" || field.startsWith("@")) throw unsupported(`${field} cannot be asked for yet`);
  return field as Exclude<Field, "pattern" | `@${string}`>;
}

export function unsupported(what: string): LoggiaError {
  return new LoggiaError("unsupported", what);
}

/** Absent values are smaller than all others. */
function order(sort: readonly SortKey[], bind: Binder): string {
  const last = directed(sort.at(-1)?.direction ?? "asc");
  const keys = sort.map(({ field, direction }) =>
    sortField(columnOf(field), bind).map((key) => `${key} ${directed(direction)}`),
  );
  // Ids are unique: what follows decides nothing.
  const ties = sort.some(({ field }) => field === "id") ? [] : [`created ${last}`, `id_hi ${last}`, `id_lo ${last}`];
  return [...keys.flat(), ...ties].join(", ");
}

function sortField(field: Exclude<SortField, "pattern" | `@${string}`>, bind: Binder): readonly string[] {
  if (field === "created" || field === "value") return [field];
  return field === "id" ? ["id_hi", "id_lo"] : [foldedText(field, bind)];
}

export function directed(direction: Direction): string {
  return direction === "asc" ? "asc nulls first" : "desc nulls last";
}

/** Gathers parameters in the order in which they are named. */
export class Binder {
  readonly known: Known;
  readonly #values: (string | number | bigint)[] = [];
  readonly #types: DuckDBType[] = [];

  constructor(known: Known = ALL) {
    this.known = known;
  }

  text(value: string): string {
    return this.add(value, VARCHAR);
  }

  /** @param value a safe integer */
  integer(value: number): string {
    return this.big(BigInt(value));
  }

  big(value: bigint): string {
    return `${value}::bigint`;
  }

  unsigned(value: bigint): string {
    return `${value}::ubigint`;
  }

  unsigned32(value: number): string {
    return `${value}::uinteger`;
  }

  add(value: string | number | bigint, type: DuckDBType): string {
    this.#values.push(value);
    this.#types.push(type);
    return `$${this.#values.length}`;
  }

  statement(sql: string): Statement {
    return { sql, values: this.#values, types: this.#types };
  }
}

export function unknown(value: never): TypeError {
  return new TypeError(`A plan holds the unknown part ${JSON.stringify(value)}`);
}
