import type { DuckDBConnection, DuckDBPreparedStatement, JS } from "@duckdb/node-api";

import type { EventRow, LogKey, UserId } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import type { GroupPlan, ListPlan, Source } from "../../query/plan.ts";
import type { Group, Marks, Page } from "../store.ts";
import { MAX_GROUPS, tooManyGroups } from "../groups.ts";
import { compileCount, compileFew, compileFind, compileGroup, compilePage, compileSlices } from "./compile.ts";
import type { Span, Statement } from "./compile.ts";
import type { FoldedField, Folds } from "./folds.ts";
import { ASKED, idParameters, joinId, NEAR, spanOf, splitId } from "./schema.ts";

/** A list in the order of time is counted in about this many slices, which tell where a page lies. */
const SLICES = 1024;

/** Fewer records than this are found and shown in one pass, which has to keep them all at once. */
const FEW = 1000;

type Row = readonly JS[];

/** What a question needs besides its plan. */
type Reading = { readonly connection: DuckDBConnection; readonly folded: ReadonlySet<FoldedField> };

export async function list(connection: DuckDBConnection, plan: ListPlan, folds: Folds): Promise<Page> {
  return folds.ask(connection, async (folded) => {
    const reading = { connection, folded };
    const few = isEverything(plan) ? null : await listFew(reading, plan);
    return few ?? (isByTime(plan) ? listByTime(reading, plan) : listSorted(reading, plan));
  });
}

/**
 * What finds little is answered by the pass that finds it. Null where it is more than {@link FEW}, which that pass notices soon, as they lie close then; and where a
 * page after the last tells nothing.
 */
async function listFew({ connection, folded }: Reading, plan: ListPlan): Promise<Page | null> {
  const found = await rows(connection, compileFew(plan, FEW, folded));
  const total = found.length > 0 ? Number(found[0]!.at(-1)) : plan.skip === 0 && plan.take > 0 ? 0 : FEW;
  return total < FEW ? { rows: found.map(toRow), total } : null;
}

function isEverything({ from, where }: ListPlan): boolean {
  return from.kind === "events" && where.kind === "and" && where.conditions.length === 0;
}

/** The pass that counts also tells where the page lies, so that the first page and the thousandth read only their own neighbourhood. */
async function listByTime(reading: Reading, plan: ListPlan): Promise<Page> {
  const { connection, folded } = reading;
  const [ends] = await rows(connection, {
    sql: "select min(created), max(created) from events",
    values: [],
    types: [],
  });
  const [first, last] = ends as [bigint | null, bigint | null];
  if (first === null || last === null) return { rows: [], total: 0 };
  const shift = Math.max(0, (last - first).toString(2).length - SLICES.toString(2).length + 1);
  const slices = (await rows(connection, compileSlices(plan, shift, folded))) as [bigint, bigint][];
  const { total, skip, span } = locate(slices, BigInt(shift), plan);
  return { rows: span === null ? [] : await page(reading, plan, skip, span), total };
}

async function listSorted(reading: Reading, plan: ListPlan): Promise<Page> {
  const total = Number((await rows(reading.connection, compileCount(plan, reading.folded)))[0]?.[0]);
  return { rows: total <= plan.skip ? [] : await page(reading, plan, plan.skip, null), total };
}

/** Whether a plan's order is (`created`, `id`), one way or the other. */
function isByTime(plan: ListPlan): boolean {
  return plan.sort.length === 0 || (plan.sort.length === 1 && plan.sort[0]?.field === "created");
}

/** The span that holds all of a plan's page, and how many of its records come before the page. */
function locate(
  slices: readonly (readonly [slice: bigint, count: bigint])[],
  shift: bigint,
  plan: ListPlan,
): { total: number; skip: number; span: Span | null } {
  const ordered = plan.sort[0]?.direction === "desc" ? slices.toReversed() : slices;
  let total = 0;
  let skip = plan.skip;
  let span: Span | null = null;
  for (const [slice, number] of ordered) {
    const count = Number(number);
    if (total + count <= plan.skip) skip -= count;
    else if (total < plan.skip + plan.take) span = widened(span, slice << shift, (slice + 1n) << shift);
    total += count;
  }
  return { total, skip, span };
}

function widened(span: Span | null, from: bigint, to: bigint): Span {
  if (span === null) return { from, to };
  return { from: from < span.from ? from : span.from, to: to > span.to ? to : span.to };
}

async function page(
  { connection, folded }: Reading,
  plan: ListPlan,
  skip: number,
  span: Span | null,
): Promise<EventRow[]> {
  return (await rows(connection, compilePage(plan, skip, span, folded))).map(toRow);
}

export async function group(connection: DuckDBConnection, plan: GroupPlan, folds: Folds): Promise<Group[]> {
  const groups = await folds.ask(connection, async (folded) => {
    return prepared(connection, compileGroup(plan, folded), async (statement) =>
      (await statement.runAndReadUntil(MAX_GROUPS + 1)).getRowsJS(),
    );
  });
  if (groups.length > MAX_GROUPS) throw tooManyGroups();
  return groups.map(([key, count, avg, sum, min, max]) => ({
    key: (typeof key === "bigint" ? Number(key) : key) as Group["key"],
    count: Number(count),
    avg: avg as number | null,
    sum: sum as number | null,
    min: min as number | null,
    max: max as number | null,
  }));
}

export async function find(
  connection: DuckDBConnection,
  from: Source,
  log: LogKey,
  id: EventId,
): Promise<EventRow | null> {
  const [row] = await rows(connection, compileFind(from, log, id));
  return row === undefined ? null : toRow(row);
}

export async function data(connection: DuckDBConnection, log: LogKey, id: EventId): Promise<string | null | undefined> {
  const { hi, lo } = splitId(id);
  const sql = "select data from events where id_hi = $1::ubigint and id_lo = $2::uinteger and log = $3";
  const result = await connection.runAndReadAll(sql, [hi, lo, log]);
  return result.getRows()[0]?.[0] as string | null | undefined;
}

export async function marks(connection: DuckDBConnection, ids: readonly EventId[]): Promise<Map<EventId, Marks>> {
  const found = new Map<EventId, { bookmarks: UserId[]; alerts: UserId[] }>();
  if (ids.length === 0) return found;
  const asked = new Set(ids);
  for (const [kind, hi, lo, user] of await marksNear(connection, ids)) {
    const id = joinId(hi, lo);
    if (!asked.has(id)) continue;
    const entry = found.get(id) ?? { bookmarks: [], alerts: [] };
    entry[kind].push(user);
    found.set(id, entry);
  }
  return found;
}

type Mark = [kind: "bookmarks" | "alerts", hi: bigint, lo: number, user: UserId];

/** All marks of the events, by user, and maybe some of events between them: where these are few, picking out costs less than a join. */
async function marksNear(connection: DuckDBConnection, ids: readonly EventId[]): Promise<readonly Mark[]> {
  const near = await connection.runAndReadAll(
    `${marksWhere(SPAN)} order by user_id limit ${MARKS_NEAR + 1}`,
    spanOf(ids),
  );
  if (near.currentRowCount <= MARKS_NEAR) return near.getRows() as Mark[];
  const exact = await connection.runAndReadAll(`${ASKED} ${marksWhere(NEAR)} order by user_id`, idParameters(ids));
  return exact.getRows() as Mark[];
}

const MARKS_NEAR = 500;
const SPAN = "id_hi between $1::ubigint and $2::ubigint";

function marksWhere(condition: string): string {
  return `select 'bookmarks', id_hi, id_lo, user_id from bookmarks where ${condition}
    union all select 'alerts', id_hi, id_lo, user_id from alerts where ${condition} and not deleted`;
}

export async function nextOffset(
  connection: DuckDBConnection,
  topic: string,
  partition: number,
): Promise<number | null> {
  const sql = 'select next_offset from positions where topic = $1 and "partition" = $2';
  const offset = (await connection.runAndReadAll(sql, [topic, partition])).getRows()[0]?.[0];
  return offset === undefined ? null : Number(offset);
}

async function rows(connection: DuckDBConnection, statement: Statement): Promise<readonly Row[]> {
  return prepared(connection, statement, async (ready) => (await ready.runAndReadAll()).getRowsJS());
}

/**
 * Runs one statement: the client's `run` looks first, by another turn on a thread of the pool, whether there are several. It is not kept for the next time, as DuckDB
 * would go on by the least and greatest values that its tables had when it was made.
 */
async function prepared<T>(
  connection: DuckDBConnection,
  { sql, values, types }: Statement,
  run: (statement: DuckDBPreparedStatement) => Promise<T>,
): Promise<T> {
  const statement = await connection.prepare(sql);
  try {
    if (values.length > 0) statement.bind([...values], [...types]);
    return await run(statement);
  } finally {
    statement.destroySync();
  }
}

function toRow(row: Row): EventRow {
  const [hi, lo, created, log, text, link, hash, tags, source, user, cls, value, lat, lon, ip, hasData] = row;
  return {
    id: joinId(hi as bigint, lo as number),
    log: log as LogKey,
    created: Number(created),
    text: text as string,
    link: link as string,
    tags: tags as string[],
    source: source as string,
    user: user as string,
    value: value as number | null,
    geo: ip === null ? (lat === null ? null : { lat: lat as number, lon: lon as number }) : { ip: ip as string },
    hash: hash as string,
    class: cls as string | null,
    data: hasData as boolean,
  };
}
