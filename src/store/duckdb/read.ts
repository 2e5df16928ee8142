import type { DuckDBConnection } from "@duckdb/node-api";

import type { Deletion } from "../../events/deletion.ts";
import type { EventRow, LogKey, UserId } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import { orderOfGroups } from "../../query/groups.ts";
import type { GroupPlan, ListPlan, Source } from "../../query/plan.ts";
import type { Group, GroupValue, Marks, Page } from "../store.ts";
import { numberOf } from "../../events/attributes.ts";
import { MAX_GROUPS, tooManyGroups } from "../groups.ts";
import { ask, askRows, rowsOf } from "./ask.ts";
import type { Row } from "./ask.ts";
import { compileCount, compileFew, compileFind, compileNear, compilePage, compileSlices } from "./compile.ts";
import type { Span } from "./compile.ts";
import { compileGroup } from "./compile-group.ts";
import type { Key } from "./compile-key.ts";
import { transaction } from "./database.ts";
import type { Facts, Known, Reach } from "./facts.ts";
import { ASKED, idParameters, joinId, NEAR, spanOf, splitId, tagsOfLine } from "./schema.ts";

/** A list in the order of time is counted in about this many slices, which tell where a page lies. */
const SLICES = 1024;

/** Fewer records than this are found and shown in one pass, which has to keep them all at once. */
const FEW = 1000;

/** What a question needs besides its plan. */
type Reading = { readonly connection: DuckDBConnection; readonly facts: Facts; readonly known: Known };

export async function list(
  connection: DuckDBConnection,
  plan: ListPlan,
  countUpTo: number,
  facts: Facts,
): Promise<Page> {
  return facts.ask(connection, async (known) => {
    const reading = { connection, facts, known };
    const soon = await (isEverything(plan) ? listNear(reading, plan, countUpTo) : listFew(reading, plan));
    if (soon !== null) return soon;
    return transaction(connection, () => {
      if (!isByTime(plan)) return listSorted(reading, plan, countUpTo);
      return countUpTo === Infinity ? listByTime(reading, plan) : listUntilCounted(reading, plan, countUpTo);
    });
  });
}

/** The records of a page alone. */
export async function rows(connection: DuckDBConnection, plan: ListPlan, facts: Facts): Promise<EventRow[]> {
  if (plan.take === 0) return [];
  return facts.ask(connection, (known) => page({ connection, facts, known }, plan, plan.skip, null));
}

/**
 * What finds little is answered by the pass that finds it. Null where it is more than {@link FEW}, which that pass notices soon, as they lie close then; and where a
 * page after the last tells nothing.
 */
async function listFew({ connection, known }: Reading, plan: ListPlan): Promise<Page | null> {
  const found = await askRows(connection, compileFew(plan, FEW, known));
  const total = found.length > 0 ? Number(found[0]!.at(-1)) : plan.skip === 0 && plan.take > 0 ? 0 : FEW;
  return total < FEW ? { rows: found.map(toRow), total } : null;
}

/**
 * A page near either end, looked for where events as dense as all would have it, and some more. Null where there is no such page, or where they are not as dense
 * there.
 */
async function listNear(
  { connection, facts, known }: Reading,
  plan: ListPlan,
  countUpTo: number,
): Promise<Page | null> {
  const { count, first, last } = await facts.reach(connection);
  const needed = plan.skip + plan.take;
  if (!isByTime(plan) || plan.take === 0 || needed > NEAR_ROWS || MARGIN * needed >= count) return null;
  const near_ms = BigInt(Math.ceil((MARGIN * needed * (last - first)) / count));
  const span =
    plan.sort[0]?.direction === "desc"
      ? { from: BigInt(last) - near_ms, to: END }
      : { from: -END, to: BigInt(first) + near_ms };
  const found = await askRows(connection, compileNear(plan, span, countUpTo, known));
  return found.length < plan.take ? null : { rows: found.map(toRow), total: Number(found[0]!.at(-1)) };
}

/** A page that ends further away would take a sort of all before it: slices skip those. */
const NEAR_ROWS = 2000;
/** So many times as far as events of an even density would need. */
const MARGIN = 4;
/** After all moments that there are. */
const END = 10n ** 17n;

function isEverything({ from, where }: ListPlan): boolean {
  return from.kind === "events" && where.kind === "and" && where.conditions.length === 0;
}

/** The pass that counts also tells where the page lies, so that the first page and the thousandth read only their own neighbourhood. */
async function listByTime(reading: Reading, plan: ListPlan): Promise<Page> {
  const { connection, facts, known } = reading;
  const { first, last } = await facts.reach(connection);
  const shift = Math.max(0, (last - first).toString(2).length - SLICES.toString(2).length + 1);
  const slices = (await askRows(connection, compileSlices(plan, shift, known))) as [bigint, bigint][];
  const counted = slices.map(([slice, count]) => ({
    from: slice << BigInt(shift),
    to: (slice + 1n) << BigInt(shift),
    count: Number(count),
  }));
  return pageAmong(reading, plan, isNewestFirst(plan) ? counted.toReversed() : counted);
}

/**
 * A page in the order of time. Spans that grow are counted from the end where the order begins,
 * until `countUpTo` records are found: what lies beyond is not looked at.
 */
async function listUntilCounted(reading: Reading, plan: ListPlan, countUpTo: number): Promise<Page> {
  const counted: CountedSpan[] = [];
  let left = countUpTo;
  for (const span of growingSpans(await reading.facts.reach(reading.connection), isNewestFirst(plan))) {
    const count = await countRecords(reading, plan, left, span);
    counted.push({ ...span, count });
    left -= count;
    if (left <= 0) break;
  }
  return pageAmong(reading, plan, counted);
}

/** Spans that together hold all of time, from one end to the other. */
function* growingSpans({ count, first, last }: Reach, newestFirst: boolean): Generator<Span> {
  let from = -END;
  let to = END;
  for (let rows = FIRST_SPAN_ROWS; rows < count; rows *= SPAN_GROWTH) {
    const reach_ms = Math.ceil((rows / count) * (last - first));
    const edge = BigInt(newestFirst ? last - reach_ms : first + reach_ms);
    yield newestFirst ? { from: edge, to } : { from, to: edge };
    if (newestFirst) to = edge;
    else from = edge;
  }
  yield { from, to };
}

/** About so many records of all logs are in the first span. */
const FIRST_SPAN_ROWS = 50_000;
const SPAN_GROWTH = 4;

async function listSorted(reading: Reading, plan: ListPlan, countUpTo: number): Promise<Page> {
  const total = await countRecords(reading, plan, countUpTo, null);
  return { rows: total <= plan.skip ? [] : await page(reading, plan, plan.skip, null), total };
}

async function countRecords(
  { connection, known }: Reading,
  plan: ListPlan,
  most: number,
  span: Span | null,
): Promise<number> {
  return Number((await askRows(connection, compileCount(plan, most, span, known)))[0]?.[0]);
}

/** Whether a plan's order is (`created`, `id`), one way or the other. */
function isByTime(plan: ListPlan): boolean {
  return plan.sort.length === 0 || (plan.sort.length === 1 && plan.sort[0]?.field === "created");
}

function isNewestFirst({ sort }: ListPlan): boolean {
  return sort[0]?.direction === "desc";
}

/** A span and how many records of a plan it holds. */
type CountedSpan = Span & { readonly count: number };

/** A page that lies within spans, which are in the order of the plan. */
async function pageAmong(reading: Reading, plan: ListPlan, spans: readonly CountedSpan[]): Promise<Page> {
  let total = 0;
  let { skip } = plan;
  let around: Span | null = null;
  for (const { from, to, count } of spans) {
    if (total + count <= plan.skip) skip -= count;
    else if (total < plan.skip + plan.take) around = widened(around, from, to);
    total += count;
  }
  return { rows: around === null ? [] : await page(reading, plan, skip, around), total };
}

function widened(span: Span | null, from: bigint, to: bigint): Span {
  if (span === null) return { from, to };
  return { from: from < span.from ? from : span.from, to: to > span.to ? to : span.to };
}

async function page(
  { connection, known }: Reading,
  plan: ListPlan,
  skip: number,
  span: Span | null,
): Promise<EventRow[]> {
  return (await askRows(connection, compilePage(plan, skip, span, known))).map(toRow);
}

export async function group(connection: DuckDBConnection, plan: GroupPlan, facts: Facts): Promise<Group[]> {
  const { found, keys, isSorted } = await facts.ask(connection, async (known) => {
    const compiled = compileGroup(plan, known);
    return { ...compiled, found: await ask(connection, compiled.statement) };
  });
  if (found.rowCount > MAX_GROUPS) throw tooManyGroups();
  const groups = (await rowsOf(found)).map((row) => toGroup(row, keys, plan.aggregates.length));
  return isSorted ? groups : sorted(groups, plan);
}

function toGroup(row: Row, keys: readonly Key[], aggregates: number): Group {
  let next = 0;
  const keysOfGroup = keys.map(({ shown, read }) => read(row.slice(next, (next += shown.length))));
  const values = row
    .slice(next, next + aggregates)
    .map((value) => (typeof value === "bigint" ? Number(value) : value)) as GroupValue[];
  return { keys: keysOfGroup, values };
}

/** By what DuckDB cannot sort by. */
function sorted(groups: readonly Group[], plan: GroupPlan): Group[] {
  const { rank, compare } = orderOfGroups<Group>(plan, numberOf);
  const ranked = groups.map(rank).sort(compare);
  return ranked.slice(plan.skip, plan.take === null ? undefined : plan.skip + plan.take).map((one) => one.group);
}

export async function find(
  connection: DuckDBConnection,
  from: Source,
  log: LogKey,
  id: EventId,
): Promise<EventRow | null> {
  const [row] = await askRows(connection, compileFind(from, log, id));
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
  const [least, greatest] = spanOf(ids);
  const isNear = `id_hi between ${least}::ubigint and ${greatest}::ubigint`;
  const near = await connection.run(`${marksWhere(isNear)} order by user_id limit ${MARKS_NEAR + 1}`);
  if (near.rowCount <= MARKS_NEAR) return (await rowsOf(near)) as Mark[];
  const exact = await connection.runAndReadAll(`${ASKED} ${marksWhere(NEAR)} order by user_id`, idParameters(ids));
  return exact.getRows() as Mark[];
}

const MARKS_NEAR = 500;

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

function toRow(row: Row): EventRow {
  const [hi, lo, created, log, text, link, hash, tags, source, user, cls, value, lat, lon, ip, ...further] = row;
  const [attributes, pattern, hasData] = further;
  return {
    id: joinId(hi as bigint, lo as number),
    log: log as LogKey,
    created: Number(created),
    text: text as string,
    link: link as string,
    tags: tagsOfLine(tags as string),
    source: source as string,
    user: user as string,
    value: value as number | null,
    geo: ip === null ? (lat === null ? null : { lat: lat as number, lon: lon as number }) : { ip: ip as string },
    attributes: attributes as string | null,
    hash: hash as string,
    pattern: pattern as string,
    class: cls as string | null,
    data: hasData as boolean,
  };
}

/** The deletion of each alert that a user has. */
export async function deletionsOfAlerts(connection: DuckDBConnection, user: UserId): Promise<Deletion[]> {
  const sql = "select id_hi, id_lo, log from alerts where user_id = $1 and not deleted";
  const rows = (await connection.runAndReadAll(sql, [user])).getRows() as [bigint, number, LogKey][];
  return rows.map(([hi, lo, log]) => ({ log, event: joinId(hi, lo), alertOf: user }));
}

/** The deletions that are known of these events, and of people's alerts about them. */
export async function deletionsAmong(
  connection: DuckDBConnection,
  log: LogKey,
  ids: readonly EventId[],
): Promise<Deletion[]> {
  if (ids.length === 0) return [];
  const sql = `${ASKED} select id_hi, id_lo, null as user_id from deleted_events where ${NEAR}
    union all select id_hi, id_lo, user_id from alerts where deleted and ${NEAR}`;
  const rows = (await connection.runAndReadAll(sql, idParameters(ids))).getRows() as [bigint, number, UserId | null][];
  return rows.map(([hi, lo, alertOf]) => ({ log, event: joinId(hi, lo), alertOf }));
}
