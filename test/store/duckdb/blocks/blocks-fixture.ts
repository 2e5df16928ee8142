import { blobValue, DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBValue } from "@duckdb/node-api";
import type { ExecutionContext } from "ava";
import { join } from "node:path";
import { pino } from "pino";

import type { LogKey, StoredEvent } from "../../../../src/events/event.ts";
import type { Condition } from "../../../../src/query/plan.ts";
import { BlockIndex } from "../../../../src/store/duckdb/blocks/block-index.ts";
import { openDuckdbStore } from "../../../../src/store/duckdb/store.ts";
import type { DuckdbOptions, DuckdbStore } from "../../../../src/store/duckdb/store.ts";
import { event, groupPlan, idAt, listPlan, MORNING, row, write } from "../../../contract/store-fixture.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

export const ROUNDS = 3;
export const STEPS = 16;
/** More rows than a test writes, so that no blocks are built. */
export const NO_BLOCKS = 1_000_000;

export function open(
  file: string,
  blockRows: number,
  limits: Pick<DuckdbOptions, "filterLimit_mb" | "tableBlocks" | "isPlain"> = {},
): Promise<DuckdbStore> {
  return openDuckdbStore({
    file,
    log: pino({ level: "silent" }),
    blockRows,
    memoryLimit_mb: 128,
    threads: 1,
    ...limits,
  });
}

/** Returns the index of a store without events. */
export function emptyBlockIndex(): BlockIndex {
  return new BlockIndex({
    blockRows: 8192,
    filterLimit_bytes: Infinity,
    filterPath: "",
    scheduler: new Scheduler(),
    log: pino({ level: "silent" }),
  });
}

export function newFile(t: ExecutionContext): string {
  return join(temporaryFolder(t), "events.duckdb");
}

/** Runs SQL in a file that no store has open. */
export async function runIn(file: string, sql: string, values: DuckDBValue[] = []): Promise<readonly DuckDBValue[][]> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  const rows = (await connection.runAndReadAll(sql, values)).getRows();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

export const contains = (value: string): Condition => ({ kind: "contains", field: "text", value });
export const matches = (pattern: string): Condition => ({ kind: "matches", field: "text", pattern });
export const equals = (field: "source" | "tags" | "user" | `@${string}`, value: string): Condition => ({
  kind: "text",
  field,
  op: "=",
  value,
});

/** Returns an event whose words occur in few events or in this one alone. */
export function eventOf(
  log: LogKey,
  random: (below: number) => number,
  created = MORNING + random(60 * 86_400_000),
): StoredEvent {
  const own = random(2 ** 30).toString(36);
  return event(log, {
    id: idAt(created),
    created: created + random(100_000) - 50_000,
    text: `request=${own}-${random(40)} of customer ${random(20)} Übergrößen${random(10)} ended`,
    tags: [`tag-${random(30)}`, "all"],
    source: `web-${random(30)}`,
    user: random(3) === 0 ? "" : `user-${random(60)}@example.com`,
    attributes:
      random(2) === 0 ? null : `{"http.status":${200 + random(40)},"trace":"t${own}","codes":["a${random(9)}",7]}`,
  });
}

export function questionsOf({ text, tags, source, user, attributes }: StoredEvent): Condition[] {
  const [request = ""] = text.split(" ");
  const questions: Condition[] = [
    contains(request),
    contains(text.slice(3, 30).toUpperCase()),
    matches(`${request.slice(0, 14)}.*customer [0-9]`),
    matches(`${request}|of customer 7 Ü`),
    equals("tags", tags[0]!),
    equals("source", source),
    { kind: "or", conditions: [equals("source", source), equals("tags", tags[0]!)] },
    { kind: "and", conditions: [equals("source", source), contains("customer 1")] },
    { kind: "not", condition: equals("source", source) },
    { kind: "in", field: "source", values: [source, "web-1", "web-x"] },
    contains("no such request"),
  ];
  if (user !== "") questions.push(equals("user", user));
  if (attributes !== null) {
    const { trace, ...rest } = JSON.parse(attributes) as { trace: string; "http.status": number };
    questions.push(equals("@trace", trace), {
      kind: "number",
      field: "@http.status",
      op: "=",
      value: rest["http.status"],
    });
  }
  return questions;
}

export async function answer(store: DuckdbStore, log: LogKey, where: Condition): Promise<unknown> {
  const newest = listPlan(log, { where, sort: [{ field: "created", direction: "desc" }], take: 5 });
  return {
    page: await store.list(newest),
    few: await store.list(newest, { countUpTo: 3 }),
    rows: await store.rows(listPlan(log, { where, sort: [{ field: "source", direction: "asc" }], skip: 2 })),
    groups: await store.group(groupPlan(log, { where, by: [{ kind: "field", field: "tags" }] })),
  };
}

/** Pseudo-random numbers by xorshift, so that a failure can be repeated with its seed. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** Replaces every filter of a file with one filter. */
export function setFilters(file: string, filter: Uint8Array): Promise<unknown> {
  return runIn(file, "update token_blocks set filter = $1", [blobValue(filter)]);
}

export async function blocksIn(file: string): Promise<number> {
  return Number((await runIn(file, "select count(*) from token_blocks"))[0]![0]);
}

/** Returns the number of filters in each filter table of a file. */
export async function tablesIn(file: string): Promise<Record<string, number>> {
  const sql = "select table_name from duckdb_tables() where starts_with(table_name, 'token_blocks') order by 1";
  const names = (await runIn(file, sql)).map(([name]) => String(name));
  const counts = names.map(async (name) => Number((await runIn(file, `select count(*) from ${name}`))[0]![0]));
  return Object.fromEntries((await Promise.all(counts)).map((count, i) => [names[i]!, count]));
}

export async function writeSome(
  t: ExecutionContext,
  file: string,
  log: LogKey,
  tableBlocks?: number,
): Promise<StoredEvent[]> {
  await using store = await open(file, 10, { ...(tableBlocks !== undefined && { tableBlocks }) });
  const random = randomFrom(4_711);
  const events: StoredEvent[] = [];
  for (let batch = 0; batch < 12; batch++) {
    const next = Array.from({ length: 10 }, (_, i) => eventOf(log, random, MORNING + batch * 1_000_000 + i * 1_000));
    await write(t, store, next);
    events.push(...next);
  }
  return events;
}

export async function findsAll(t: ExecutionContext, store: DuckdbStore, events: readonly StoredEvent[]): Promise<void> {
  // The first event of each batch and some others.
  for (const each of events.filter((_, i) => i === 0 || i % 7 === 3)) {
    const [request = ""] = each.text.split(" ");
    const { rows } = await store.list(listPlan(each.log, { where: contains(request) }));
    t.deepEqual(rows, [row(each)], request);
  }
}
