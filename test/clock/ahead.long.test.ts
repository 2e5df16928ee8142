import test from "ava";
import type { ExecutionContext } from "ava";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { freePorts } from "../../infra/engines/ports.ts";
import { withRetentionFilter } from "../../pipelines/retention/filter.ts";
import { startRetention } from "../../pipelines/retention/job.ts";
import { openSqliteBus } from "../../src/bus/sqlite/sqlite.ts";
import { openClock } from "../../src/clock/persistent-clock.ts";
import type { PersistentClock } from "../../src/clock/persistent-clock.ts";
import { fileMarks } from "../../src/clock/marks.ts";
import type { RemovalClock } from "../../src/events/clock.ts";
import { acceptedAt } from "../../src/events/id.ts";
import type { EventId } from "../../src/events/id.ts";
import { createHolds } from "../../src/monitoring/holds.ts";
import { Program } from "../chaos/program.ts";
import { send } from "../chaos/http.ts";
import { accept, caughtUp, makeLog, post as append, rows, SILENT, start } from "../pipelines/fixture.ts";
import { ENGINE_KINDS } from "../pipelines/engine-kinds.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A host whose clock a test sets. */
type Host = { shift_ms: number };

async function clockOf(t: ExecutionContext, host: Host): Promise<PersistentClock> {
  const clock = await openClock({
    marks: fileMarks(join(temporaryFolder(t), "clock.json")),
    shared: false,
    holds: createHolds({ log: SILENT }),
    log: SILENT,
    host: () => Date.now() + host.shift_ms,
  });
  t.teardown(() => clock[Symbol.asyncDispose]());
  return clock;
}

for (const { name, open } of ENGINE_KINDS) {
  test(`${name}: a clock a hundred days ahead removes nothing of a log that keeps ninety days`, async (t) => {
    const ports = await open(t);
    const host: Host = { shift_ms: 0 };
    const clock = await clockOf(t, host);
    const { log } = await makeLog(ports.catalog);
    await ports.catalog.updateLog(log, { retentionDays: 90 });
    const store = withRetentionFilter({ ...ports, now: clock.now });
    const pipeline = await start(t, { ...ports, store });
    await append(
      ports.bus,
      Array.from({ length: 50 }, () => accept(log)),
    );
    await caughtUp(pipeline);
    host.shift_ms = 100 * DAY_MS;
    const retention = startRetention({ ...ports, clock, log: SILENT });
    t.teardown(() => retention.close());
    t.is(await retention.removeExpired(), 0);
    // Events that arrive while the clock is ahead are stored too.
    await append(
      ports.bus,
      Array.from({ length: 5 }, () => accept(log)),
    );
    await caughtUp(pipeline);
    t.is((await rows(ports.store, log)).length, 55);
    host.shift_ms = 0;
    const old = Date.now() - 91 * DAY_MS;
    await ports.catalog.updateLog(log, { retentionDays: null });
    await append(ports.bus, [accept(log, { created: old })]);
    await caughtUp(pipeline);
    await ports.catalog.updateLog(log, { retentionDays: 90 });
    await ports.store.refresh();
    t.is(await retention.removeExpired(), 1, "expired events are removed once the clock is right");
    t.is((await rows(ports.store, log)).length, 55);
  });
}

/** How long the bus keeps records that its groups have acknowledged. */
const KEEP_MS = 7 * DAY_MS;

/**
 * Creates a bus of three records, appended by a given clock and acknowledged by the bus's group.
 */
async function threeRecords(t: ExecutionContext, clock: RemovalClock) {
  const file = join(temporaryFolder(t), "bus.sqlite");
  {
    await using bus = await openSqliteBus({
      file,
      log: SILENT,
      keep_ms: KEEP_MS,
      clock: { now: clock.now, mayRemove: () => false },
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    const options = { topic: "events", group: "g", maxRecords: 10, maxBytes: 1e6 } as const;
    await bus.append(
      "events",
      ["1", "2", "3"].map((text) => ({ key: "k", value: Buffer.from(text) })),
    );
    await bus.subscribe(options, async (batch) => {
      await batch.ack();
      resolve();
    });
    await promise;
  }
  /** Returns how many records remain after a removal run by another clock. */
  const remaining = async (later: RemovalClock): Promise<number> => {
    let runs = 0;
    const counted = { now: later.now, mayRemove: () => ((runs += 1), later.mayRemove()) };
    await using bus = await openSqliteBus({ file, log: SILENT, keep_ms: KEEP_MS, clock: counted });
    await until(() => runs > 0, { what: "a removal run" });
    await bus[Symbol.asyncDispose]();
    await using again = await openSqliteBus({
      file,
      log: SILENT,
      keep_ms: KEEP_MS,
      clock: { now: later.now, mayRemove: () => false },
    });
    let count = 0;
    for await (const some of again.read({ topic: "events", maxRecords: 10, maxBytes: 1e6 })) count += some.length;
    return count;
  };
  return remaining;
}

const at = (days: number): RemovalClock => ({ now: () => Date.now() + days * DAY_MS, mayRemove: () => true });

test("the embedded bus removes nothing while the clock is ahead, and later waits for its grace period", async (t) => {
  const remaining = await threeRecords(t, at(0));
  const host: Host = { shift_ms: 0 };
  const clock = await clockOf(t, host);
  host.shift_ms = 100 * DAY_MS;
  t.is(await remaining(clock), 3);
  // Eight days have really passed: the first removal run records what was acknowledged, one a
  // day later removes it.
  t.is(await remaining(at(8)), 3);
  t.is(await remaining(at(8.9)), 3);
  t.is(await remaining(at(9.1)), 1, "the last record stays");
});

test("records of a clock that was ahead by a year are removed one retention after it was corrected", async (t) => {
  const remaining = await threeRecords(t, at(365));
  t.is(await remaining(at(365)), 3, "acknowledged records are recorded, by the wrong clock too");
  t.is(await remaining(at(0)), 3);
  t.is(await remaining(at(6.9)), 3);
  t.is(await remaining(at(8)), 1, "the last record stays");
});

for (const kind of KINDS) {
  test(`${kind}: a post while the clock is a year ahead changes no other post's time, across restarts too`, async (t) => {
    t.timeout(600_000);
    const began_ms = Date.now();
    const folder = temporaryFolder(t);
    const file = join(folder, "shift");
    writeFileSync(file, "0");
    const preload = new URL("../chaos/preload/clock.ts", import.meta.url).pathname;
    const { api, post: to, ...environment } = await addressesOf(environmentOf(kind, join(folder, "data")));
    const program = await Program.start({
      name: "all",
      folder,
      environment: { ...environment, CHAOS_CLOCK: file, LOGGIA_LOG_LEVEL: "warn" },
      preloads: [preload],
    });
    t.teardown(() => program[Symbol.asyncDispose]());
    const isNearNow = (ms: number) => ms > began_ms - 10 * MINUTE_MS && ms < Date.now() + 10 * MINUTE_MS;
    const ids: EventId[] = [];
    const attempt = async () => {
      const body = new URLSearchParams({ apikey: KEY, text: `post ${ids.length}` }).toString();
      const headers = { "Content-Type": "application/x-www-form-urlencoded" };
      const call = send({ url: `${to}/1/logs/${LOG}/events`, method: "POST", headers, body });
      const answer = await call.catch((error: Error) => ({ status: 0, text: error.message }));
      // The bus did not confirm it in time.
      return answer.status === 503 ? null : answer;
    };
    const post = async (): Promise<void> => {
      const { status, text } = await until(attempt, { what: "the bus to confirm a post in time", interval_ms: 500 });
      t.is(status, 201, text);
      ids.push((JSON.parse(text) as { id: EventId }).id);
    };
    const get = (url: string) => send({ url, method: "GET", headers: { Authorization: AUTHORIZATION } });
    const holds = async () => JSON.parse((await get(`${api}/manage/1/holds`)).text) as { name: string }[];
    const isHeld = async () => (await holds()).some(({ name }) => name === "clock");
    const isReady = async () => (await get(`${to}/health/ready`)).status === 200;
    const ready = () => until(() => isReady().catch(() => false), { what: "the service to be ready" });
    await ready();
    await post();
    await shift(program, file, 365 * DAY_MS);
    await until(async () => (await post(), await isHeld()), { what: "the clock hold to begin" });
    await until(isReady, { what: "posting to continue" });
    t.regex((await get(`${api}/metrics`)).text, /loggia_holds\{name="clock"\} 1/);
    t.regex(program.log(), /the clock of this machine shows/);
    await program.terminate();
    await program.start();
    await ready();
    await post();
    t.true(await isHeld(), "the next run does not trust it either");
    await shift(program, file, 0);
    await until(async () => (await post(), !(await isHeld())), { what: "the clocks to agree" });
    const right = ids.length;
    await post();
    await program.terminate();
    await program.start();
    await ready();
    await post();
    t.deepEqual(ids, ids.toSorted());
    t.true(
      ids.every((id) => isNearNow(acceptedAt(id))),
      "ids are of the trusted time",
    );
    for (const id of ids.slice(right)) {
      const found = async () => {
        const { status, text } = await get(`${api}/1/logs/${LOG}/events/${id}`);
        return status === 200 && (JSON.parse(text) as { created: string }).created;
      };
      const created = Number(/\d+/.exec((await until(found, { what: "an event" })) as string)?.[0]);
      t.true(isNearNow(created), `created is ${new Date(created).toISOString()}`);
    }
  });
}

async function shift(program: Program, file: string, ms: number): Promise<void> {
  writeFileSync(file, String(ms));
  program.signal("SIGWINCH");
}

/** Returns addresses that stay the same across restarts. */
async function addressesOf(environment: Record<string, string>) {
  const [api, post] = await freePorts(2);
  return {
    ...environment,
    LOGGIA_API: `127.0.0.1:${api}`,
    LOGGIA_POST: `127.0.0.1:${post}`,
    api: `http://127.0.0.1:${api}`,
    post: `http://127.0.0.1:${post}`,
  };
}
