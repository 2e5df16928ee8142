import { BIGINT, DOUBLE, UBIGINT, UINTEGER, VARCHAR } from "@duckdb/node-api";
import type { DuckDBType } from "@duckdb/node-api";

import { fold } from "../../events/text.ts";
import type { LogKey } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import { parseEventId } from "../../events/id.ts";
import type {
  ComparisonOp,
  Condition,
  Direction,
  GroupField,
  GroupPlan,
  Grouping,
  ListPlan,
  NumberField,
  SortField,
  SortKey,
  Source,
  TextField,
} from "../../query/plan.ts";
import { FOLDED_FIELDS } from "./folds.ts";
import type { FoldedField } from "./folds.ts";
import { toRe2 } from "./regexp.ts";
import { splitId } from "./schema.ts";

/** SQL with its parameters: nothing that a caller said ever becomes part of the text. */
export type Statement = {
  readonly sql: string;
  readonly values: readonly (string | number | bigint)[];
  readonly types: readonly DuckDBType[];
};

/** A span of `created`, in milliseconds since the Unix epoch; `to` is not part of it. */
export type Span = { readonly from: bigint; readonly to: bigint };

/** The fields that questions have to look up in `folded`; see `Folds`. */
type Known = ReadonlySet<FoldedField>;
const ALL: Known = new Set(FOLDED_FIELDS);

type Filter = Pick<ListPlan, "from" | "logs" | "where">;

/** What a row of a list is made of; read by `toRow`. `hash` and `id` come as they were given. */
const ROW = `id_hi, id_lo, created, log, text, link, hash, tags, source, "user", class, value, lat, lon, ip, data is not null`;

/** How many records a plan finds. */
export function compileCount(plan: Filter, folded: Known = ALL): Statement {
  const bind = new Binder(folded);
  return bind.statement(`select count(*) from events where ${filter(plan, bind)}`);
}

/** How many records a plan finds in each slice of 2^`shift` milliseconds of `created`, in the order of time. */
export function compileSlices(plan: Filter, shift: number, folded: Known = ALL): Statement {
  const bind = new Binder(folded);
  const where = filter(plan, bind);
  return bind.statement(
    `select created >> ${bind.integer(shift)} as slice, count(*) from events where ${where} group by slice order by slice`,
  );
}

/** A page of a plan. `span` narrows it to where the page lies, and `skip` counts from there. */
export function compilePage(plan: ListPlan, skip: number, span: Span | null, folded: Known = ALL): Statement {
  const bind = new Binder(folded);
  const where = [filter(plan, bind)];
  if (span !== null) where.push(`created >= ${bind.big(span.from)}`, `created < ${bind.big(span.to)}`);
  return bind.statement(
    `select ${ROW} from events where ${where.join(" and ")}
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(skip)}`,
  );
}

/**
 * The same page in one pass that ends once it has found `most` records: where there are fewer, they are all. In each row the number that it has found stands last.
 */
export function compileFew(plan: ListPlan, most: number, folded: Known = ALL): Statement {
  const bind = new Binder(folded);
  return bind.statement(
    `select * exclude (folded), count(*) over ()
     from (select ${ROW} as has_data, ${folded.size === 0 ? "null as folded" : "folded"} from events where ${filter(plan, bind)} limit ${bind.integer(most)})
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(plan.skip)}`,
  );
}

/** One record of one log. */
export function compileFind(from: Source, log: LogKey, id: EventId): Statement {
  const bind = new Binder();
  return bind.statement(
    `select ${ROW} from events where ${isId(id, bind)} and log = ${bind.text(log)} and ${source(from, bind)}`,
  );
}

/** Rows of key, count, avg, sum, min and max. */
export function compileGroup(plan: GroupPlan, folded: Known = ALL): Statement {
  const bind = new Binder(folded);
  const { key, folded: form, start, order } = groupKey(plan.by, bind);
  const [foldedKey, anyForm] =
    form === null ? ["", ""] : [`, ${form} as folded_key`, ", any_value(folded_key) as folded_key"];
  const by = plan.sort.by === "key" ? "" : `"${plan.sort.by}" ${directed(plan.sort.direction)}, `;
  const ties = directed(plan.sort.by === "key" ? plan.sort.direction : "asc");
  const take = plan.take === null ? "" : `limit ${bind.integer(plan.take)}`;
  // fsum carries the rounding error of each step along; plain sums drift with the order of the rows.
  return bind.statement(
    `select ${start} as key, "count", "sum" / "values" as "avg", "sum", "min", "max"
     from (select key${anyForm}, count(*) as "count", count(value) as "values", fsum(value) as "sum", min(value) as "min", max(value) as "max"
       from (select ${key} as key${foldedKey}, value from events where ${filter(plan, bind)}) group by key)
     order by ${by}${order.map((each) => `${each} ${ties}`).join(", ")} ${take} offset ${bind.integer(plan.skip)}`,
  );
}

function filter(plan: Filter, bind: Binder): string {
  const logs = plan.logs.length === 0 ? "false" : `log in (${plan.logs.map((log) => bind.text(log)).join(", ")})`;
  return `${logs} and ${source(plan.from, bind)} and ${condition(plan.where, bind)}`;
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
      return compareNumber(where.field, where.op, where.value, bind);
    case "contains": {
      const value = bind.text(fold(where.value));
      return anyFolded(textField(where.field), (text) => `contains(${text}, ${value})`, bind);
    }
    case "matches": {
      const expression = toRe2(where.pattern);
      if (expression === null) return "false";
      const pattern = bind.text(expression);
      return anyAsGiven(textField(where.field), (text) => `regexp_matches(${text}, ${pattern})`);
    }
    case "absent":
      return absent(where.field);
    case "accepted-after": {
      const { hi, lo } = splitId(where.id);
      const high = bind.unsigned(hi);
      return `(id_hi >= ${high} and (id_hi > ${high} or id_lo > ${bind.add(lo, UINTEGER)}))`;
    }
  }
  throw unknown(where satisfies never);
}

function joined(conditions: readonly Condition[], word: "and" | "or", empty: string, bind: Binder): string {
  if (conditions.length === 0) return empty;
  return `(${conditions.map((part) => condition(part, bind)).join(` ${word} `)})`;
}

/** Texts as they were given; "" where absent. Tags are apart. */
const AS_GIVEN: Record<Exclude<TextField, "tags">, string> = {
  id: "(lpad(lower(to_hex(id_hi)), 16, '0') || lpad(lower(to_hex(id_lo)), 8, '0'))",
  text: "text",
  link: "link",
  hash: "hash",
  source: "source",
  log: "log",
  class: "coalesce(class, '')",
  user: '"user"',
};

/** The same in lower case, which is what they are folded unless `folded` holds something else. */
const LOWER: Record<Exclude<TextField, "tags">, string> = {
  id: AS_GIVEN.id,
  text: "lower(text)",
  link: "lower(link)",
  hash: "lower(hash)",
  source: "lower(source)",
  log: "lower(log)",
  class: "coalesce(lower(class), '')",
  user: 'lower("user")',
};

function foldedText(field: Exclude<TextField, "tags">, bind: Binder): string {
  return hasFolds(field, bind) ? `coalesce(folded."${field}", ${LOWER[field]})` : LOWER[field];
}

function foldedTags(bind: Binder): string {
  return hasFolds("tags", bind) ? "coalesce(folded.tags, tags)" : "tags";
}

function hasFolds(field: TextField, { folded }: Binder): boolean {
  return field !== "id" && field !== "hash" && field !== "log" && folded.has(field);
}

function compareText(field: TextField, op: ComparisonOp, value: string, bind: Binder): string {
  if (op === "=" && value === "") return absent(field);
  if (op === "=" && field === "id") {
    const id = parseEventId(value);
    return id === null ? "false" : isId(id, bind);
  }
  const parameter = bind.text(value);
  if (op === "=" && field === "tags") return `list_contains(${foldedTags(bind)}, ${parameter})`;
  return anyFolded(field, (text) => `${text} ${op} ${parameter}`, bind);
}

function isOneOf(field: TextField, values: readonly string[], bind: Binder): string {
  const alternatives = values.includes("") ? [absent(field)] : [];
  const present = values.filter((value) => value !== "");
  if (field === "id") {
    alternatives.push(...present.map((value) => compareText(field, "=", value, bind)));
  } else if (present.length > 0) {
    const list = present.map((value) => bind.text(value)).join(", ");
    alternatives.push(
      field === "tags" ? `list_has_any(${foldedTags(bind)}, [${list}])` : `${foldedText(field, bind)} in (${list})`,
    );
  }
  return alternatives.length === 0 ? "false" : `(${alternatives.join(" or ")})`;
}

/** Whether a test holds for the field's folded text, or for any of several; false where the field is absent. */
function anyFolded(field: TextField, test: (text: string) => string, bind: Binder): string {
  if (field === "tags") return anyOf(foldedTags(bind), test);
  const text = foldedText(field, bind);
  return `(${text} <> '' and ${test(text)})`;
}

function anyAsGiven(field: TextField, test: (text: string) => string): string {
  return field === "tags" ? anyOf("tags", test) : `(${AS_GIVEN[field]} <> '' and ${test(AS_GIVEN[field])})`;
}

function anyOf(list: string, test: (text: string) => string): string {
  return `(len(list_filter(${list}, lambda tag: ${test("tag")})) > 0)`;
}

function isId(id: EventId, bind: Binder): string {
  const { hi, lo } = splitId(id);
  return `(id_hi = ${bind.unsigned(hi)} and id_lo = ${bind.add(lo, UINTEGER)})`;
}

function compareNumber(field: TextField | NumberField, op: ComparisonOp, value: number, bind: Binder): string {
  if (field === "created") {
    // Compared as integers, a bound lets the scan skip; a fraction is left to floating point, which is exact for times.
    return Number.isSafeInteger(value)
      ? `(created ${op} ${bind.integer(value)})`
      : `(created::double ${op} ${bind.add(value, DOUBLE)})`;
  }
  if (field === "value") return `(value is not null and value ${op} ${bind.add(value, DOUBLE)})`;
  throw new TypeError(`${field} does not hold a number`);
}

function absent(field: TextField | NumberField | "geo" | "data"): string {
  switch (field) {
    case "created":
      return "false";
    case "value":
      return "(value is null)";
    case "geo":
      return "(lat is null and ip is null)";
    case "data":
      return "(coalesce(data, '') = '')";
    case "tags":
      return "(len(tags) = 0)";
    case "id":
      return "false";
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

function textField(field: TextField | NumberField): TextField {
  if (field === "created" || field === "value") throw new TypeError(`${field} does not hold a text`);
  return field;
}

/** Absent values are smaller than all others. */
function order(sort: readonly SortKey[], bind: Binder): string {
  const last = directed(sort.at(-1)?.direction ?? "asc");
  const keys = sort.map(({ field, direction }) => sortField(field, bind).map((key) => `${key} ${directed(direction)}`));
  return [...keys.flat(), `created ${last}`, `id_hi ${last}`, `id_lo ${last}`].join(", ");
}

function sortField(field: SortField, bind: Binder): readonly string[] {
  if (field === "created" || field === "value") return [field];
  return field === "id" ? ["id_hi", "id_lo"] : [foldedText(field, bind)];
}

function directed(direction: Direction): string {
  return direction === "asc" ? "asc nulls first" : "desc nulls last";
}

/**
 * How events are told apart: by `key`. Where some have a form of their own, `folded` is that, the same in all events of a group. Of a group, `start` is what is shown,
 * and `order` how groups sort. Texts are folded once for a group, and not for each event.
 */
type GroupKey = {
  readonly key: string;
  readonly folded: string | null;
  readonly start: string;
  readonly order: readonly string[];
};

function groupKey(by: Grouping, bind: Binder): GroupKey {
  switch (by.kind) {
    case "day":
      return period(86_400_000, by.offset_min, bind);
    case "hour":
      return period(3_600_000, by.offset_min, bind);
    case "field":
      return groupField(by.field, bind);
  }
  throw unknown(by satisfies never);
}

function groupField(field: GroupField, bind: Binder): GroupKey {
  if (field === "value") return { key: "value", folded: null, start: "key", order: ["key"] };
  const isFolded = hasFolds(field, bind);
  if (field === "tags") {
    // An event is in the group of each of its tags, and in that of "" where it has none.
    const each = (tags: string): string => `unnest(if(len(tags) = 0, [''], ${tags}))`;
    return {
      key: each("tags"),
      folded: isFolded ? each(foldedTags(bind)) : null,
      start: "key",
      order: isFolded ? ["coalesce(folded_key, key)", "key"] : ["key"],
    };
  }
  return {
    key: AS_GIVEN[field],
    folded: isFolded ? `folded."${field}"` : null,
    start: "key",
    order: [isFolded ? "coalesce(folded_key, lower(key))" : "lower(key)", "key"],
  };
}

/** Before all moments that there are, and the start of a day and an hour: counted from there, division never meets a negative number, which it would round up. */
const BEFORE_ALL_MS = 100_000_001 * 86_400_000;

/** Days or hours around `created`, by number. */
function period(length_ms: number, offset_min: number, bind: Binder): GroupKey {
  const shift = bind.integer(BEFORE_ALL_MS + offset_min * 60_000);
  const length = bind.integer(length_ms);
  return {
    key: `(created + ${shift}) // ${length}`,
    folded: null,
    start: `key * ${length} - ${shift}`,
    order: ["key"],
  };
}

/** Gathers parameters in the order in which they are named. */
export class Binder {
  /** The fields that have to be looked up in `folded`. */
  readonly folded: Known;
  readonly #values: (string | number | bigint)[] = [];
  readonly #types: DuckDBType[] = [];

  constructor(folded: Known = ALL) {
    this.folded = folded;
  }

  text(value: string): string {
    return this.add(value, VARCHAR);
  }

  integer(value: number): string {
    return this.add(BigInt(value), BIGINT);
  }

  big(value: bigint): string {
    return this.add(value, BIGINT);
  }

  unsigned(value: bigint): string {
    return this.add(value, UBIGINT);
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

function unknown(value: never): TypeError {
  return new TypeError(`A plan holds the unknown part ${JSON.stringify(value)}`);
}
