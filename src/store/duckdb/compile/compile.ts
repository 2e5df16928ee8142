import { KEYWORD_COLUMNS } from "../database/schema.ts";
import type { LogKey } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { ListPlan, SortKey, RecordSource } from "../../../query/plan.ts";
import { Binder, directed, unknown } from "./binder.ts";
import { attributeOrder } from "./attribute.ts";
import { condition, foldedText, isId, levelRank } from "./condition.ts";
import type { Statement } from "../database/run-statement.ts";
import type { QuerySchema } from "../memory/query-schema.ts";

/** A span of `created`, in milliseconds since the Unix epoch; `to` is exclusive. */
export type IdRange = { readonly from: bigint; readonly to: bigint };

type Filter = Pick<ListPlan, "from" | "logs" | "where">;

/** Columns of a row of a list, in the order that `toRow` reads. Whether there is data follows. */
const FIELDS = `id_hi, id_lo, created, log, text, tags, class, value, lat, lon, ip, attributes, pattern, ${KEYWORD_COLUMNS}`;
const ROW = `${FIELDS}, data is not null`;

/** Counts the records of a plan, up to `most`, within `span` if one is given. */
export function compileCount(plan: Filter, most: number, span: IdRange | null, schema: QuerySchema): Statement {
  const bind = new Binder(schema, plan.logs);
  const within = span === null ? "" : `and ${isWithin(span, bind)}`;
  return bind.statement(`select ${count(eventsTableSql(plan, bind), `${filter(plan, bind)} ${within}`, most)}`);
}

/** Returns SQL for a count that stops at `most` rows. */
function count(events: string, where: string, most: number): string {
  if (most === Infinity) return `count(*) from ${events} where ${where}`;
  return `count(*) from (select 1 from ${events} where ${where} limit ${most})`;
}

/** Counts the records of a plan by slices of 2^`shift` milliseconds of `created`, in order. */
export function compileSlices(plan: Filter, shift: number, schema: QuerySchema): Statement {
  const bind = new Binder(schema, plan.logs);
  const where = filter(plan, bind);
  return bind.statement(
    `select created >> ${bind.integer(shift)} as slice, count(*) ` +
      `from ${eventsTableSql(plan, bind)} where ${where} group by slice order by slice`,
  );
}

/** Compiles a page of a plan. `span` narrows the scan to the page; `skip` counts from its start. */
export function compilePage(plan: ListPlan, skip: number, span: IdRange | null, schema: QuerySchema): Statement {
  const bind = new Binder(schema, plan.logs);
  const within = span === null ? "" : `and ${isWithin(span, bind)}`;
  return bind.statement(
    `select ${ROW} from ${eventsTableSql(plan, bind)} where ${filter(plan, bind)} ${within}
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(skip)}`,
  );
}

/**
 * Compiles the same page for a span with few other records, all of which are read whole at once.
 * The second table keeps DuckDB from first sorting the keys alone and then scanning the span again
 * for the rows of the page.
 */
export function compileShortPage(plan: ListPlan, skip: number, span: IdRange, schema: QuerySchema): Statement {
  const bind = new Binder(schema, plan.logs);
  return bind.statement(
    `with single as materialized (select 1)
     select ${ROW} from ${eventsTableSql(plan, bind)}, single where ${filter(plan, bind)} and ${isWithin(span, bind)}
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(skip)}`,
  );
}

/**
 * Counts the records of a plan in order of time within a span, and returns `created` of the first
 * `most` of them in order, NULL if there are none.
 */
export function compileFirstTimes(plan: ListPlan, most: number, span: IdRange, schema: QuerySchema): Statement {
  const bind = new Binder(schema, plan.logs);
  const first = plan.sort[0]?.direction === "desc" ? "max" : "min";
  return bind.statement(
    `select count(*), ${first}(created, ${bind.integer(most)})
     from ${eventsTableSql(plan, bind)} where ${filter(plan, bind)} and ${isWithin(span, bind)}`,
  );
}

/**
 * Compiles a page taken from a span that may be too narrow for it. The last column of each row is
 * the count of all records of the plan, up to `most`.
 */
export function compileNearEnd(plan: ListPlan, span: IdRange, most: number, schema: QuerySchema): Statement {
  const bind = new Binder(schema, plan.logs);
  const where = filter(plan, bind);
  const events = eventsTableSql(plan, bind);
  return bind.statement(
    `select ${ROW}, (select ${count(events, where, most)})
     from ${events} where ${where} and ${isWithin(span, bind)}
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(plan.skip)}`,
  );
}

function isWithin({ from, to }: IdRange, bind: Binder): string {
  return `created >= ${bind.big(from)} and created < ${bind.big(to)}`;
}

/**
 * Compiles a page in one pass that stops at `most` records; fewer are all that there are. The last
 * column of each row is the number of records found.
 */
export function compileInOnePass(plan: ListPlan, most: number, schema: QuerySchema): Statement {
  const bind = new Binder(schema, plan.logs);
  return bind.statement(
    `select ${FIELDS}, has_data, count(*) over ()
     from (select * exclude (data), data is not null as has_data from ${eventsTableSql(plan, bind)} where ${filter(plan, bind)} limit ${bind.integer(most)})
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(plan.skip)}`,
  );
}

/**
 * Compiles the first `most` records found, in any order. It is planned faster than a statement that
 * also sorts and counts.
 */
export function compileUnsorted(plan: ListPlan, most: number, schema: QuerySchema): Statement {
  const bind = new Binder(schema, plan.logs);
  const where = filter(plan, bind);
  return bind.statement(`select ${ROW} from ${eventsTableSql(plan, bind)} where ${where} limit ${bind.integer(most)}`);
}

/** Compiles the lookup of one record of one log. */
export function compileFind(from: RecordSource, log: LogKey, id: EventId): Statement {
  const bind = new Binder();
  return bind.statement(
    `select ${ROW} from events where ${isId(id, bind)} and log = ${quoted(log)} and ${source(from, bind)}`,
  );
}

export function filter(plan: Filter, bind: Binder): string {
  const numbers = plan.logs.flatMap((log) => bind.schema.logs.get(log) ?? []);
  const logs = numbers.length === 0 ? "false" : `log_number in (${numbers.join(", ")})`;
  return `${logs} and ${source(plan.from, bind)} and ${condition(plan.where, bind)}`;
}

/**
 * Returns the table of events, or the ranges of it that may hold matches for a plan. A scan for
 * each range skips the rest; one scan with all ranges in its condition would not.
 */
export function eventsTableSql({ where }: Filter, bind: Binder): string {
  const ranges = bind.schema.blocks.rangesOf(where);
  if (ranges === null) return "events";
  const scans = ranges.map(({ from, to }) => {
    const end = to === null ? "" : ` and id_hi <= ${bind.unsigned(to)}`;
    return `select * from events where id_hi >= ${bind.unsigned(from)}${end}`;
  });
  return `(${scans.join(" union all ")}) as events`;
}

/** Quotes the key of a log. @throws TypeError unless it consists of letters, digits and hyphens */
export function quoted(log: LogKey): string {
  if (!/^[a-z0-9-]+$/.test(log)) throw new TypeError(`${JSON.stringify(log)} is not a log key`);
  return `'${log}'`;
}

function source(from: RecordSource, bind: Binder): string {
  switch (from.kind) {
    case "events":
      return "true";
    case "bookmarks":
      return `(id_hi, id_lo) in (select (id_hi, id_lo) from bookmarks where user_id = ${bind.text(from.user)})`;
    case "alerts": {
      const user = bind.text(from.user);
      const alerted = `(id_hi, id_lo) in (select (id_hi, id_lo) from alerts where user_id = ${user} and not deleted)`;
      if (from.state === undefined) return alerted;
      const seen = `(id_hi, id_lo) in (select (id_hi, id_lo) from seen_alerts where user_id = ${user})`;
      return `${alerted} and ${from.state === "seen" ? seen : `not (${seen})`}`;
    }
  }
  throw unknown(from satisfies never);
}

/** Returns an order in which absent values sort before all others. */
function order(sort: readonly SortKey[], bind: Binder): string {
  const last = directed(sort.at(-1)?.direction ?? "asc");
  const keys = sort.map((key) => sortKey(key, bind));
  // Ids are unique, so further keys would decide nothing.
  const ties = sort.some(({ field }) => field === "id") ? [] : [`created ${last}`, `id_hi ${last}`, `id_lo ${last}`];
  return [...keys.flat(), ...ties].join(", ");
}

function sortKey({ field, direction }: SortKey, bind: Binder): readonly string[] {
  if (isAttribute(field)) return attributeOrder(field, direction, bind);
  const columns =
    field === "created" || field === "value"
      ? [field]
      : field === "id"
        ? ["id_hi", "id_lo"]
        : [field === "level" ? levelRank(bind) : foldedText(field, bind)];
  return columns.map((column) => `${column} ${directed(direction)}`);
}
