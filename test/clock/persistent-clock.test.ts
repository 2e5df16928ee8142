import test from "ava";
import type { ExecutionContext } from "ava";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { openSqliteDocuments } from "../../src/catalog/documents/sqlite.ts";
import { openClock } from "../../src/clock/persistent-clock.ts";
import type { PersistentClock } from "../../src/clock/persistent-clock.ts";
import { fileMarks, sharedMarks } from "../../src/clock/marks.ts";
import type { ClockMarks } from "../../src/clock/marks.ts";
import { createHolds } from "../../src/monitoring/holds.ts";
import type { Holds } from "../../src/monitoring/holds.ts";
import { SILENT } from "../pipelines/fixture.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { Machine } from "./machine.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

type Run = { readonly clock: PersistentClock; readonly holds: Holds };

async function openRun(
  machine: Machine,
  marks: ClockMarks,
  { shared = false, check_ms = 3_600_000 } = {},
): Promise<Run> {
  const holds = createHolds({ log: SILENT });
  return { clock: await openClock({ ...machine, marks, shared, holds, log: SILENT, check_ms }), holds };
}

/** Runs a service until it ends or is killed. */
async function inRun(
  t: ExecutionContext,
  machine: Machine,
  file: string,
  work: (run: Run) => Promise<void> | void,
  { killed = false } = {},
): Promise<void> {
  const run = await openRun(machine, fileMarks(file));
  if (killed) t.teardown(() => run.clock[Symbol.asyncDispose]());
  await work(run);
  if (!killed) await run.clock[Symbol.asyncDispose]();
}

function markIn(t: ExecutionContext): string {
  return join(temporaryFolder(t), "clock.json");
}

test("a clock that is a year ahead is not trusted after a restart either", async (t) => {
  const [machine, file] = [new Machine(), markIn(t)];
  await inRun(t, machine, file, () => machine.pass(DAY_MS));
  for (const killed of [true, false]) {
    machine.step(365 * DAY_MS);
    await inRun(
      t,
      machine,
      file,
      ({ clock, holds }) => {
        t.true(Math.abs(machine.host() - 365 * DAY_MS - clock.now()) < MINUTE_MS);
        t.false(clock.mayRemove());
        t.regex(holds.list()[0]?.why ?? "", /the clock of this machine shows 2027-.* no data is removed/);
        t.is(holds.list()[0]?.blocks, null);
        machine.step(-365 * DAY_MS);
        t.true(clock.mayRemove());
        t.deepEqual(holds.list(), []);
      },
      { killed },
    );
  }
});

test("without a mark another clock is read, and trusted if it contradicts the host's", async (t) => {
  const machine = new Machine();
  const right_ms = machine.host();
  machine.step(100 * DAY_MS);
  const marks = { read: async () => null, write: async () => {} };
  const open = async (reference: () => Promise<number | null>) => {
    const holds = createHolds({ log: SILENT });
    const options = { ...machine, marks, shared: true, holds, log: SILENT, check_ms: 3_600_000 };
    const clock = await openClock({ ...options, reference });
    t.teardown(() => clock[Symbol.asyncDispose]());
    return { now: clock.now(), mayRemove: clock.mayRemove(), holds: holds.list().map(({ name }) => name) };
  };
  const mismatched = await open(async () => right_ms);
  t.true(Math.abs(mismatched.now - right_ms) < MINUTE_MS);
  t.deepEqual(mismatched, { now: mismatched.now, mayRemove: false, holds: ["clock"] });
  const trusted = { now: machine.host(), mayRemove: true, holds: [] };
  t.deepEqual(await open(async () => machine.host() - 20 * MINUTE_MS), trusted, "within an hour");
  t.deepEqual(await open(async () => null), trusted, "it is unknown");
  const away = () => Promise.reject(new Error("away"));
  t.deepEqual(await open(away), trusted, "it can't be read");
});

test("a service that was down while its machine ran on trusts the clock at once", async (t) => {
  const [machine, file] = [new Machine(), markIn(t)];
  await inRun(t, machine, file, () => {});
  machine.pass(30 * DAY_MS);
  await inRun(t, machine, file, ({ clock }) => {
    t.is(clock.now(), machine.host());
    t.true(clock.mayRemove());
  });
});

test("a reboot of minutes is trusted, one of days awaits a decision, across restarts too", async (t) => {
  const [machine, file] = [new Machine(), markIn(t)];
  await inRun(t, machine, file, () => {});
  machine.reboot(10 * MINUTE_MS);
  await inRun(t, machine, file, ({ clock }) => void t.true(clock.mayRemove() && clock.now() === machine.host()));
  machine.reboot(3 * DAY_MS);
  await inRun(t, machine, file, ({ clock }) => void t.false(clock.mayRemove()));
  await inRun(t, machine, file, async ({ clock, holds }) => {
    t.false(clock.mayRemove());
    await holds.accept("clock");
    t.true(clock.mayRemove());
    t.is(clock.now(), machine.host());
  });
  machine.pass(MINUTE_MS);
  await inRun(t, machine, file, ({ clock }) => void t.true(clock.mayRemove()));
});

test("without a mark, or with an unreadable one, the host's clock is trusted", async (t) => {
  const [machine, file] = [new Machine(), markIn(t)];
  await inRun(t, machine, file, ({ clock }) => void t.true(clock.mayRemove()));
  for (const text of ["", "{", "{}", '{"time_ms":"x"}']) {
    writeFileSync(file, text);
    await inRun(t, machine, file, ({ clock }) => void t.true(clock.mayRemove()));
    t.is((JSON.parse(readFileSync(file, "utf8")) as { accepted: number }).accepted, 0);
  }
});

test("a process of a cluster with a wrong clock trusts the others, and learns of decisions", async (t) => {
  const documents = await openSqliteDocuments({ file: join(temporaryFolder(t), "documents.sqlite") });
  t.teardown(() => documents[Symbol.asyncDispose]());
  const marks = sharedMarks(documents);
  const [right, wrong] = [new Machine(), new Machine()];
  const one = await openRun(right, marks, { shared: true, check_ms: 1 });
  t.teardown(() => one.clock[Symbol.asyncDispose]());
  t.true(one.clock.mayRemove());
  wrong.step(100 * DAY_MS);
  const other = await openRun(wrong, marks, { shared: true, check_ms: 1 });
  t.teardown(() => other.clock[Symbol.asyncDispose]());
  t.false(other.clock.mayRemove());
  t.true(Math.abs(other.clock.now() - right.host()) < MINUTE_MS);
  t.true(one.clock.mayRemove());
  // The cluster was down that long, and the first process is behind: an operator accepts the
  // clock of the other.
  await other.holds.accept("clock");
  t.true(other.clock.mayRemove());
  await until(() => !one.clock.mayRemove(), { what: "the first process to read the decision" });
  right.step(100 * DAY_MS);
  t.true(one.clock.mayRemove());
});
