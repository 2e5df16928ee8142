import test from "ava";
import { defineRoute, mountRoute } from "../../src/api/define-route.ts";
import { pino } from "pino";

import type { ApiCall, Context } from "../../src/api/context.ts";
import { ResponseMemory } from "../../src/api/response-memory.ts";
import { sizeOfEvents, sizeOfGroups } from "../../src/api/response-sizes.ts";
import { writeEvents } from "../../src/api/written-events.ts";
import { showGroups } from "../../src/api/groups/view.ts";
import type { EventRow, LogKey, UserId } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import { GuessLimiter } from "../../src/auth/requests/guess-limiter.ts";
import { createRateLimiter, DEFAULT_RATES } from "../../src/ratelimit/rate-limiter.ts";
import { createOriginCheck } from "../../src/auth/requests/origin-check.ts";
import type { Format } from "../../src/http/formats.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../../src/http/limits/connection-limits.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { WHOLE_BYTES, writeLong } from "../../src/http/streamed-list.ts";
import { planQuery } from "../../src/query/planner.ts";
import type { PlannedGroups } from "../../src/query/planned-query.ts";
import { UTC } from "../../src/query/zone.ts";
import { AUTHORIZATION, serviceOf } from "../support/service.ts";
import { until } from "../support/until.ts";
import { Scheduler } from "../../src/scheduling/scheduler.ts";

const scheduler = new Scheduler();

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

type Written = {
  /** Whole, or in pieces. */
  readonly parts: readonly (string | Buffer)[];
  readonly isWhole: boolean;
  /** The most memory counted. */
  readonly most_bytes: number;
};

/** Writes a page of events and reads it all. */
async function writtenOf(format: Format, rows: readonly EventRow[], attributes = false): Promise<Written> {
  let most_bytes = 0;
  const memory = { resize: (size_bytes: number) => (most_bytes = Math.max(most_bytes, size_bytes)) };
  const call = { memory, format, scheduler, request: { socket: { destroyed: false } } } as unknown as ApiCall;
  const body = await writeEvents(call, { rows, annotations: new Map(), shape: { columns: null, attributes } });
  if (body === null || "json" in body) throw new Error("it is not written");
  if ("payload" in body) return { parts: [body.payload], isWhole: true, most_bytes };
  const pieces = body.pieces({ signal: new AbortController().signal, closing: () => false });
  return { parts: await Array.fromAsync(pieces), isWhole: false, most_bytes };
}

const BY_SOURCE = planQuery("GET events GROUPBY source", {
  logs: ["shop" as LogKey],
  now_ms: 0,
  zone: UTC,
}) as PlannedGroups;

for (const format of FORMATS) {
  test(`the memory counted for a page as ${format.kind} covers its rows and their output`, async (t) => {
    for (const letter of [...LETTERS, "\u0001", "&"]) {
      for (const length of [1, 500, 5_000]) {
        const rows = Array.from({ length: 100 }, (_, i) => rowOf(i, letter.repeat(length / letter.length)));
        const { parts, isWhole, most_bytes } = await writtenOf(format, rows);
        t.true(isWhole);
        const held = rows.reduce((sum, { text, pattern }) => sum + 2 * (text.length + pattern.length), 0);
        // The pieces are there until they are joined.
        const needed = held + 2 * parts[0]!.length;
        t.true(most_bytes >= needed, `${letter} ${length}: ${most_bytes} for ${needed}`);
      }
    }
  });

  test(`the largest attributes as ${format.kind} are counted, and sent in pieces`, async (t) => {
    const values = Array.from({ length: 30_000 }, (_, i) => i % 10);
    const attributes = JSON.stringify({ ['"'.repeat(200)]: values });
    const rows = Array.from({ length: 2 }, (_, i) => ({ ...rowOf(i, "one"), attributes }));
    const { parts, isWhole, most_bytes } = await writtenOf(format, rows, true);
    t.is(isWhole, format.kind !== "xml");
    const size_bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    const held = 4 * attributes.length;
    t.true(most_bytes >= held + 2 * Math.min(size_bytes, WHOLE_BYTES), `${most_bytes} for ${size_bytes}`);
    t.true(most_bytes < 3 * WHOLE_BYTES);
    if (isWhole) return;
    t.true(size_bytes > 60_000_000);
    t.true(parts.every(({ length }) => length < 1_000_000));
    const text = parts.join("");
    t.true(text.startsWith('<?xml version="1.0" encoding="utf-8"?><results><event><id>'));
    t.is(text.match(/<event>/g)?.length, 2);
    t.true(text.endsWith("</attribute></attributes></event></results>"));
  });

  test(`the memory counted for groups as ${format.kind} covers them and their output`, async (t) => {
    for (const letter of LETTERS) {
      const groups = Array.from({ length: 2_000 }, (_, i) => {
        const key = `${i} ${letter.repeat(190 / letter.length)}`;
        return { keys: [key], values: [1, null, null, null, null], previous: null };
      });
      const list = showGroups(groups, BY_SOURCE);
      const { payload } = await writeLong(format, list, () => true, scheduler);
      const held = groups.reduce((sum, { keys: [key] }) => sum + 2 * key!.length, 0);
      const counted = sizeOfGroups(groups, format);
      t.true(counted >= held + payload.length, `${letter}: ${counted} for ${held} and ${payload.length}`);
    }
  });
}

test("bookmarks, alerts and attributes count for the page that has them", (t) => {
  const row = rowOf(1, "one");
  const users = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(16, "0") as UserId);
  const marks = new Map([[row.id, { bookmarks: users, alerts: [] }]]);
  t.true(sizeOfEvents([row], marks) >= 16_000);
  t.true(sizeOfEvents([{ ...row, attributes: "x".repeat(10_000) }], new Map()) >= 20_000);
  t.true(sizeOfEvents([row], new Map()) < 2_000);
});

for (const method of ["GET", "POST"] as const) {
  test(`a failed ${method} and an answered one both release the memory of their responses`, async (t) => {
    const { ports } = await serviceOf(t, "embedded");
    const limiter = createRateLimiter();
    const body = { limit_bytes: 1_000, deadline_ms: 10_000, scheduler };
    const guesses = new GuessLimiter();
    const context = { catalog: ports.catalog, limiter, guesses, body, browsers: createOriginCheck() } as Context;
    const base = { method, who: "caller", id: "test", tag: "logs", summary: "", answers: {} } as const;
    const failing = defineRoute({
      ...base,
      path: "/failing",
      async handle(_, { memory }) {
        await memory.take(1_000);
        throw new Error("the store is away");
      },
    });
    const answering = defineRoute({
      ...base,
      path: "/answering",
      async handle(_, { memory }) {
        await memory.take(1_000);
        return { status: 200, body: { json: () => "{}", xml: () => ({ root: "results", content: null }) } };
      },
    });
    const server = createHttpServer({
      routes: [failing, answering].map((endpoint) => mountRoute(context, endpoint)),
      log: pino({ level: "silent" }),
      scheduler: new Scheduler(),
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
