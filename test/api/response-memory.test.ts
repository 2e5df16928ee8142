import test from "ava";
import { pino } from "pino";

import { authenticated } from "../../src/api/context.ts";
import type { Context } from "../../src/api/context.ts";
import { ResponseMemory } from "../../src/api/response-memory.ts";
import { sizeOfEvents, sizeOfGroups } from "../../src/api/response-sizes.ts";
import { listEvents } from "../../src/api/event-view.ts";
import { showGroups } from "../../src/api/groups/view.ts";
import type { EventRow, LogKey, UserId } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import { createRateLimiter, DEFAULT_RATES } from "../../src/ratelimit/rate-limiter.ts";
import { createBrowserGuard } from "../../src/http/browser-guard.ts";
import type { Format } from "../../src/http/formats.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../../src/http/listen.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { writeLong } from "../../src/http/streamed-list.ts";
import type { LongList } from "../../src/http/streamed-list.ts";
import { planQuery } from "../../src/query/planner.ts";
import type { PlannedGroups } from "../../src/query/planned-query.ts";
import { UTC } from "../../src/query/zone.ts";
import { AUTHORIZATION, serviceOf } from "../support/service.ts";
import { until } from "../support/until.ts";

const FORMATS: readonly Format[] = [{ kind: "json" }, { kind: "xml" }, { kind: "jsonp", callback: "show" }];
/** Letters by their number of bytes in UTF-8. */
const LETTERS = ["a", "é", "€", "\u{1f600}"];

function rowOf(i: number, text: string): EventRow {
  return {
    id: String(i).padStart(24, "0") as EventId,
    log: "shop" as LogKey,
    created: Date.UTC(2026, 0, 1),
    text,
    link: "",
    hash: "0".repeat(32),
    tags: ["one", "two"],
    source: "web-07",
    user: "",
    value: null,
    geo: null,
    class: null,
    data: false,
    attributes: null,
    pattern: text,
  };
}

async function bytesOf(format: Format, list: LongList): Promise<number> {
  return (await writeLong(format, list, () => true)).payload.length;
}

const BY_SOURCE = planQuery("GET events GROUPBY source", {
  logs: ["shop" as LogKey],
  now_ms: 0,
  zone: UTC,
}) as PlannedGroups;

for (const format of FORMATS) {
  test(`the memory counted for a page as ${format.kind} covers its rows and their output`, async (t) => {
    for (const letter of LETTERS) {
      for (const length of [1, 500, 5_000]) {
        const rows = Array.from({ length: 100 }, (_, i) => rowOf(i, letter.repeat(length / letter.length)));
        const payload = await bytesOf(format, listEvents(rows, new Map()));
        const held = rows.reduce((sum, { text }) => sum + 2 * text.length, 0);
        const counted = sizeOfEvents(rows, new Map(), { format, attributes: false });
        t.true(counted >= held + payload, `${letter} ${length}: ${counted} for ${held} and ${payload}`);
      }
    }
  });

  test(`the memory counted for groups as ${format.kind} covers them and their output`, async (t) => {
    for (const letter of LETTERS) {
      const groups = Array.from({ length: 2_000 }, (_, i) => {
        const key = `${i} ${letter.repeat(190 / letter.length)}`;
        return { keys: [key], values: [1, null, null, null, null], previous: null };
      });
      const list = showGroups(groups, BY_SOURCE);
      const { payload } = await writeLong(format, list, () => true);
      const held = groups.reduce((sum, { keys: [key] }) => sum + 2 * key!.length, 0);
      const counted = sizeOfGroups(groups, format);
      t.true(counted >= held + payload.length, `${letter}: ${counted} for ${held} and ${payload.length}`);
    }
  });
}

test("bookmarks and alerts of many users count for the page that shows them", async (t) => {
  const row = rowOf(1, "one");
  const users = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(16, "0") as UserId);
  const marks = new Map([[row.id, { bookmarks: users, alerts: [] }]]);
  const [format] = FORMATS;
  const payload = await bytesOf(format!, listEvents([row], marks));
  t.true(sizeOfEvents([row], marks, { format: format!, attributes: false }) >= payload);
});

test("attributes count for the page that shows them", async (t) => {
  const attributes = JSON.stringify(Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`name.${i}`, `<${i}>`])));
  const rows = Array.from({ length: 100 }, (_, i) => ({ ...rowOf(i, "one"), attributes }));
  for (const format of FORMATS) {
    const payload = await bytesOf(format, listEvents(rows, new Map(), { columns: null, attributes: true }));
    t.true(sizeOfEvents(rows, new Map(), { format, attributes: true }) >= payload, format.kind);
    t.true(sizeOfEvents(rows, new Map(), { format, attributes: false }) < payload, "it is these that count");
  }
});

for (const method of ["GET", "POST"] as const) {
  test(`a failed ${method} and an answered one both release the memory of their responses`, async (t) => {
    const { ports } = await serviceOf(t, "embedded");
    const limiter = createRateLimiter();
    const body = { limit_bytes: 1_000, deadline_ms: 10_000 };
    const context = { catalog: ports.catalog, limiter, body, browsers: createBrowserGuard() } as Context;
    const failing = authenticated(context, method, "/failing", async ({ memory }) => {
      await memory.take(1_000);
      throw new Error("the store is away");
    });
    const answering = authenticated(context, method, "/answering", async ({ memory }) => {
      await memory.take(1_000);
      return { status: 200, body: { json: () => "{}", xml: () => ({ root: "results", content: null }) } };
    });
    const server = createHttpServer({
      routes: [failing, answering],
      log: pino({ level: "silent" }),
      limits: DEFAULT_CONNECTION_LIMITS,
      listener: { name: "a test", setting: "none" },
      limiter,
    });
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    t.teardown(() => server.close());
    const status = async (path: string): Promise<number> => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { Authorization: AUTHORIZATION },
      });
      await response.arrayBuffer();
      return response.status;
    };
    t.is(await status("/failing"), 500);
    t.is(await status("/answering"), 200);
    await until(() => limiter.answers.running === 0, { what: "the release of the memory" });
    t.is(limiter.answers.running, 0);
  });
}

test("memory for work besides a response is taken while it runs, and work that does not fit is refused", async (t) => {
  const limiter = createRateLimiter({ rates: { ...DEFAULT_RATES, answers_mb: 2 } });
  const memory = new ResponseMemory(limiter, "ann");
  await memory.take(1_000);
  const running = Promise.withResolvers<void>();
  const work = memory.during(500_000, () => running.promise);
  t.is(limiter.answers.running, 501_000);
  memory.resize(2_000);
  t.is(limiter.answers.running, 502_000);
  const other = new ResponseMemory(limiter, "ann");
  await other.take(1_000);
  await t.throwsAsync(
    other.during(600_000, () => Promise.resolve(t.fail())),
    { code: "too_many_requests" },
  );
  running.resolve();
  await work;
  t.is(limiter.answers.running, 3_000);
  memory.release();
  other.release();
  t.is(limiter.answers.running, 0);
});
