import type { LogKey } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { ListPlan, SortKey, Source } from "../../../query/plan.ts";
import { Binder, directed, unknown } from "./binder.ts";
import type { Statement } from "./binder.ts";
import { attributeOrder } from "./attribute.ts";
import { condition, foldedText, isId } from "./condition.ts";
import type { Known } from "../column-statistics.ts";

/** A span of `created`, in milliseconds since the Unix epoch; `to` is not part of it. */
export type Span = { readonly from: bigint; readonly to: bigint };

type Filter = Pick<ListPlan, "from" | "logs" | "where">;

/**
 * What a row of a list is made of, but for whether there is data; read by `toRow`. `id`
 * comes as they were given.
 */
const FIELDS = `id_hi, id_lo, created, log, text, link, tags, source, "user", class, value, lat, lon, ip, attributes, pattern`;
const ROW = `${FIELDS}, data is not null`;

/** How many records a plan finds, `most` at most, in `span` alone where one is given. */
export function compileCount(plan: Filter, most: number, span: Span | null, known: Known): Statement {
  const bind = new Binder(known, plan.logs);
  const within = span === null ? "" : `and ${isWithin(span, bind)}`;
  return bind.statement(`select ${count(eventsOf(plan, bind), `${filter(plan, bind)} ${within}`, most)}`);
}

/** A count that looks at no more than it takes to count `most`. */
function count(events: string, where: string, most: number): string {
  if (most === Infinity) return `count(*) from ${events} where ${where}`;
  return `count(*) from (select 1 from ${events} where ${where} limit ${most})`;
}

/** How many records a plan finds in each slice of 2^`shift` milliseconds of `created`, in the order of time. */
export function compileSlices(plan: Filter, shift: number, known: Known): Statement {
  const bind = new Binder(known, plan.logs);
  const where = filter(plan, bind);
  return bind.statement(
    `select created >> ${bind.integer(shift)} as slice, count(*) ` +
      `from ${eventsOf(plan, bind)} where ${where} group by slice order by slice`,
  );
}

/** A page of a plan. `span` narrows it to where the page lies, and `skip` counts from there. */
export function compilePage(plan: ListPlan, skip: number, span: Span | null, known: Known): Statement {
  const bind = new Binder(known, plan.logs);
  const within = span === null ? "" : `and ${isWithin(span, bind)}`;
  return bind.statement(
    `select ${ROW} from ${eventsOf(plan, bind)} where ${filter(plan, bind)} ${within}
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(skip)}`,
  );
}

/**
 * The same page of a span that holds few records besides it: all of them are read whole at once.
 * With a second table DuckDB does not sort the keys first and look all rows of the span through for
 * those of the page.
 */
export function compileShortPage(plan: ListPlan, skip: number, span: Span, known: Known): Statement {
  const bind = new Binder(known, plan.logs);
  return bind.statement(
    `with single as materialized (select 1)
     select ${ROW} from ${eventsOf(plan, bind)}, single where ${filter(plan, bind)} and ${isWithin(span, bind)}
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(skip)}`,
  );
}

/**
 * How many records of a plan, which is in the order of time, lie in a span; and `created` of the
 * first `most` of them, in order, NULL where there are none.
 */
export function compileFirst(plan: ListPlan, most: number, span: Span, known: Known): Statement {
  const bind = new Binder(known, plan.logs);
  const first = plan.sort[0]?.direction === "desc" ? "max" : "min";
  return bind.statement(
    `select count(*), ${first}(created, ${bind.integer(most)})
     from ${eventsOf(plan, bind)} where ${filter(plan, bind)} and ${isWithin(span, bind)}`,
  );
}

/**
 * The same page, taken from a span that may be too narrow for it. The last column of each row is
 * the number of all that the plan finds, `most` at most.
 */
export function compileNear(plan: ListPlan, span: Span, most: number, known: Known): Statement {
  const bind = new Binder(known, plan.logs);
  const where = filter(plan, bind);
  const events = eventsOf(plan, bind);
  return bind.statement(
    `select ${ROW}, (select ${count(events, where, most)})
     from ${events} where ${where} and ${isWithin(span, bind)}
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(plan.skip)}`,
  );
}

function isWithin({ from, to }: Span, bind: Binder): string {
  return `created >= ${bind.big(from)} and created < ${bind.big(to)}`;
}

/**
 * The same page in one pass that ends once it has found `most` records: where there are fewer, they
 * are all. In each row the number that it has found stands last.
 */
export function compileFew(plan: ListPlan, most: number, known: Known): Statement {
  const bind = new Binder(known, plan.logs);
  return bind.statement(
    `select ${FIELDS}, has_data, count(*) over ()
     from (select * exclude (data), data is not null as has_data from ${eventsOf(plan, bind)} where ${filter(plan, bind)} limit ${bind.integer(most)})
     order by ${order(plan.sort, bind)} limit ${bind.integer(plan.take)} offset ${bind.integer(plan.skip)}`,
  );
}

/**
 * The first `most` records that one pass finds, as they may come: a statement that takes a third
 * less to plan than one that sorts and counts them too.
 */
export function compileSome(plan: ListPlan, most: number, known: Known): Statement {
  const bind = new Binder(known, plan.logs);
  const where = filter(plan, bind);
  return bind.statement(`select ${ROW} from ${eventsOf(plan, bind)} where ${where} limit ${bind.integer(most)}`);
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

/**
 * The table of events, or those ranges of it outside of which no event meets the condition of a plan. A scan of
 * each range skips the rest, which one scan with all ranges in its condition would not.
 */
export function eventsOf({ where }: Filter, bind: Binder): string {
  const ranges = bind.known.blocks.rangesOf(where);
  if (ranges === null) return "events";
  const scans = ranges.map(({ from, to }) => {
    const end = to === null ? "" : ` and id_hi <= ${bind.unsigned(to)}`;
    return `select * from events where id_hi >= ${bind.unsigned(from)}${end}`;
  });
  return `(${scans.join(" union all ")}) as events`;
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

/** Absent values are smaller than all others. */
function order(sort: readonly SortKey[], bind: Binder): string {
  const last = directed(sort.at(-1)?.direction ?? "asc");
  const keys = sort.map((key) => sortKey(key, bind));
  // Ids are unique: what follows decides nothing.
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
        : [foldedText(field, bind)];
  return columns.map((column) => `${column} ${directed(direction)}`);
}
