import { DuckDBInstance } from "@duckdb/node-api";
import test from "ava";
import type { ExecutionContext } from "ava";
import * as fc from "fast-check";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { pino } from "pino";

import type { LogKey, StoredEvent } from "../../../../src/events/event.ts";
import { EVERYTHING } from "../../../../src/query/plan.ts";
import type { Aggregate, Condition, GroupPlan, Grouping, PeriodUnit } from "../../../../src/query/plan.ts";
import { formatNumber } from "../../../../src/api/view.ts";
import { fixedZone, parseZone } from "../../../../src/query/zone.ts";
import { AttributeColumns } from "../../../../src/store/duckdb/database/attributes.ts";
import { ColumnStatistics } from "../../../../src/store/duckdb/memory/column-statistics.ts";
import { LogNumbers } from "../../../../src/store/duckdb/database/logs.ts";
import { AnnotatedLogs } from "../../../../src/store/duckdb/memory/annotated-logs.ts";
import { ListTimesCache } from "../../../../src/store/duckdb/memory/list-times-cache.ts";
import { openDuckdbStore } from "../../../../src/store/duckdb/store.ts";
import { groupBySums } from "../../../../src/store/duckdb/read/group-by-sums.ts";
import { MOST_SLICES, SLICE_MS, TimeSums } from "../../../../src/store/duckdb/memory/time-sums.ts";
import type { Group } from "../../../../src/store/store.ts";
import type { DuckdbStore } from "../../../../src/store/duckdb/store.ts";
import { createRandom } from "../../../fuzz/random.ts";
import { event, groupPlan, idAt, MORNING, newLog, newUser } from "../../../contract/store-fixture.ts";
import { day, USUAL } from "../../../support/groups.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { writeAlerts, writeEvents } from "../../../support/write-events.ts";
import { emptyBlockIndex } from "../blocks/blocks-fixture.ts";
import type { Statistic } from "../../../../src/store/duckdb/memory/query-schema.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

const DAY_MS = 86_400_000;
const STEPS = 40;
const QUESTIONS_A_STEP = 6;
const EVENTS_A_STEP = 40;
/** Events are created at most this many days before or after the first. */
const REACH_DAYS = 500;

/**
 * Opens a store.
 * @param summedEvents Infinity: groups are always computed from the events
 */
async function open(t: ExecutionContext, summedEvents: number): Promise<DuckdbStore> {
  const file = join(temporaryFolder(t), "events.duckdb");
  const log = pino({ level: "silent" });
  const store = await openDuckdbStore({ file, log, memoryLimit_mb: 256, threads: 2, blockRows: 64, summedEvents });
  t.teardown(() => store[Symbol.asyncDispose]());
  return store;
}

const PERIODS: readonly (readonly [PeriodUnit, number])[] = [
  ["minutes", 5],
  ["minutes", 15],
  ["minutes", 30],
  ["hours", 1],
  ["hours", 6],
  ["days", 1],
  ["days", 3],
  ["weeks", 1],
  ["months", 1],
];
const ZONES = [
  "",
  "-5",
  "5.75",
  "0.1",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Pacific/Apia",
  "Africa/Monrovia",
];

const groupings: fc.Arbitrary<readonly Grouping[]> = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  {
    weight: 9,
    arbitrary: fc
      .tuple(fc.constantFrom(...PERIODS), fc.constantFrom(...ZONES))
      .map(([[unit, count], tz]) => [{ kind: "period" as const, unit, count, zone: parseZone(tz) }]),
  },
);

const bounds: fc.Arbitrary<Condition> = fc.record({
  kind: fc.constant("number" as const),
  field: fc.constant("created" as const),
  op: fc.constantFrom("<" as const, "<=" as const, ">" as const, ">=" as const),
  value: fc.oneof(
    fc.integer({ min: -REACH_DAYS, max: REACH_DAYS }).map((days) => MORNING + days * DAY_MS),
    fc.integer({ min: -REACH_DAYS * DAY_MS, max: REACH_DAYS * DAY_MS }).map((ms) => MORNING + ms + 0.5),
    fc.integer({ min: -REACH_DAYS * DAY_MS, max: REACH_DAYS * DAY_MS }).map((ms) => MORNING + ms),
  ),
});

const ranges: fc.Arbitrary<Condition> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(EVERYTHING) },
  bounds,
  fc.array(bounds, { maxLength: 3 }).map((conditions) => ({ kind: "and" as const, conditions })),
);

function plans(log: LogKey): fc.Arbitrary<GroupPlan> {
  const aggregates = fc.constantFrom(USUAL, USUAL.slice(0, 1), USUAL.slice(2), []);
  return fc.record({ by: groupings, where: ranges, aggregates }).chain(({ by, where, aggregates: computed }) =>
    fc.record({
      kind: fc.constant("group" as const),
      from: fc.constant({ kind: "events" as const }),
      logs: fc.constant([log]),
      by: fc.constant(by),
      where: fc.constant(where),
      aggregates: fc.constant(computed),
      having:
        computed.length === 0
          ? fc.constant(null)
          : fc.constantFrom(null, null, { kind: "compare" as const, aggregate: 0, op: ">" as const, value: 2 }),
      sort: fc.record({
        by: fc.constantFrom("key" as const, ...computed.keys()),
        direction: fc.constantFrom("asc" as const, "desc" as const),
      }),
      skip: fc.constantFrom(0, 0, 2),
      take: fc.constantFrom(null, null, 5),
    }),
  );
}

/** Operations that are applied to both stores, one after the other. */
const STEPS_OF = ["later", "later", "later", "late", "delete", "expire", "bookmark", "alert", "classify"] as const;

test("groups by time are the same from sums as from all events", async (t) => {
  t.timeout(300_000);
  const seed = randomBytes(4).readInt32BE();
  t.log(`seed ${seed}`);
  const stores = [await open(t, 0), await open(t, Infinity)] as const;
  const log = newLog();
  const user = newUser();
  let written: StoredEvent[] = [];
  let accepted = MORNING;
  const random = createRandom(seed);
  const draw = (below: number): number => random.below(below);
  const some = (isLate: boolean): StoredEvent[] =>
    Array.from({ length: EVENTS_A_STEP }, () =>
      event(log, {
        id: idAt(isLate ? MORNING - draw(DAY_MS) : (accepted += 1)),
        created: (draw(20) === 0 ? 0 : MORNING) + draw(2 * REACH_DAYS * DAY_MS) - REACH_DAYS * DAY_MS,
        // Quarters add up without rounding, in any order.
        value: draw(4) === 0 ? null : draw(4_000) / 4 - 500,
      }),
    );
  const both = (work: (store: DuckdbStore) => Promise<unknown>): Promise<unknown> => Promise.all(stores.map(work));
  for (let step = 0; step < STEPS; step++) {
    const kind = step === 0 ? "later" : STEPS_OF[draw(STEPS_OF.length)]!;
    const target = written[draw(written.length)];
    switch (kind) {
      case "later":
      case "late": {
        const events = some(kind === "late");
        await both((store) => writeEvents(store, events));
        written.push(...events);
        break;
      }
      case "delete":
        await both((store) => store.deleteEvent(log, target!.id));
        written = written.filter(({ id }) => id !== target!.id);
        break;
      case "expire": {
        const before = MORNING - REACH_DAYS * DAY_MS + step * DAY_MS;
        await both((store) => store.deleteExpired({ before: new Map([[log, before]]), markersBefore: null }));
        written = written.filter(({ created }) => created >= before);
        break;
      }
      case "bookmark":
        await both((store) => store.addBookmark(user, log, target!.id));
        break;
      case "alert":
        await both((store) => writeAlerts(store, [{ user, event: target! }]));
        break;
      case "classify": {
        const classOf = (events: readonly unknown[]): Promise<string[]> =>
          Promise.resolve(events.map(() => `step-${step}`));
        await both((store) => store.reclassify({ log, from: null, after: null, classOf }));
        break;
      }
    }
    const [total] = await stores[0].group(groupPlan(log, { by: [] }));
    t.is(total!.values[0], written.length, `after step ${step}, ${kind}`);
    const asked = fc.sample(plans(log), { numRuns: QUESTIONS_A_STEP, seed: seed + step });
    for (const plan of asked) {
      const [bySums, byEvents] = [await stores[0].group(plan), await stores[1].group(plan)];
      t.deepEqual(bySums, byEvents, `after step ${step}, ${kind}: ${JSON.stringify(plan)}`);
    }
  }
});

test("sums count each event once while events are written, late or not, and deleted", async (t) => {
  t.timeout(120_000);
  const store = await open(t, 0);
  const log = newLog();
  let accepted = MORNING;
  let count = 0;
  const batch = (ids: () => number): StoredEvent[] =>
    Array.from({ length: 10 }, (_, i) => event(log, { id: idAt(ids()), created: MORNING + i * DAY_MS, value: 1 }));
  const later = (): number => (accepted += 1);
  const add = async (events: readonly StoredEvent[]): Promise<void> => {
    await writeEvents(store, events);
    count += events.length;
  };
  await add(batch(later));
  const ended = new AbortController();
  const writing = (async () => {
    for (let i = 0; i < 40; i++) {
      // Written at once, the later ids first.
      const [first, second] = [batch(later), batch(later)];
      await Promise.all([add(second), add(first)]);
      await add(batch(() => MORNING - i * 1_000));
      await store.deleteEvent(log, second[0]!.id);
      count -= 1;
    }
  })().finally(() => ended.abort());
  const plans = [[], [day(fixedZone(0))]].map((by) => groupPlan(log, { by, aggregates: [COUNTS, SUMS] }));
  for (let asked = 0; !ended.signal.aborted || asked % 2 === 1; asked++) {
    const groups = await store.group(plans[asked % 2]!);
    // Answers from memory do not yield to the writer by themselves.
    await turn();
    t.true(groups.length > 0);
    t.true(groups.every(({ values: [counted, sum] }) => counted === sum));
  }
  await writing;
  for (const plan of plans) {
    const groups = await store.group(plan);
    t.is(
      groups.reduce((sum, { values }) => sum + Number(values[0]), 0),
      count,
    );
  }
});

const COUNTS: Aggregate = { kind: "count", where: null };
const SUMS: Aggregate = { kind: "sum", of: "value" };

/** Opens sums over a table. The test tells them when rows were written. */
async function openSums(t: ExecutionContext) {
  const instance = await DuckDBInstance.create(":memory:");
  t.teardown(() => instance.closeSync());
  const connection = await instance.connect();
  await connection.run("create table events (created bigint, id_hi ubigint, log_number uinteger, value double)");
  const database: { mutationVersion: number | null; writeVersion: number | null; changeVersion: number } = {
    mutationVersion: 0,
    writeVersion: 0,
    changeVersion: 0,
  };
  const sums = new TimeSums(database, 0);
  const statistics = new ColumnStatistics({
    logs: new LogNumbers(),
    attributes: new AttributeColumns(1024),
    blocks: emptyBlockIndex(),
    annotatedLogs: new AnnotatedLogs(),
    listTimes: new ListTimesCache(database),
    sums,
  });
  const log = newLog();
  statistics.logs.numberOf(log);
  const known = {
    statistics: new Set<Statistic>(),
    logs: statistics.logs,
    attributes: statistics.attributes,
    blocks: statistics.blocks,
  };
  const ask = (fields: Partial<GroupPlan> = {}): Promise<readonly Group[] | null> =>
    groupBySums(connection, groupPlan(log, { aggregates: [COUNTS, SUMS], ...fields }), {
      querying: new Scheduler().querying,
      statistics,
      sums,
      schema: known,
    });
  return { connection, database, known, ask };
}

test("sums are computed once, and later only from new events", async (t) => {
  const { connection, database, ask } = await openSums(t);
  const values = (groups: readonly Group[] | null) => groups?.map((group) => group.values) ?? null;
  await connection.run(`insert into events
    select ${MORNING} + i * 3600000, i, 1, i % 10 from range(1, 1001) rows(i)`);
  const all = { by: [] };
  database.mutationVersion = null;
  t.is(await ask(all), null, "not while something else than adding is under way");
  database.mutationVersion = 1;
  t.deepEqual(values(await ask(all)), [[1000, 4500]]);
  // The sums do not know of this row; the result shows that they read nothing.
  await connection.run(`insert into events values (${MORNING}, 2000, 1, 8)`);
  t.deepEqual(values(await ask(all)), [[1000, 4500]]);
  await connection.run(`update events set value = 1000 where id_hi = 10`);
  database.writeVersion = 1;
  t.deepEqual(values(await ask(all)), [[1001, 4508]], "the new one, and not the one that is known");
  database.mutationVersion = 2;
  t.deepEqual(values(await ask(all)), [[1001, 5508]]);
  database.writeVersion = null;
  await connection.run(`insert into events values (${MORNING}, 2001, 1, null), (${MORNING}, 2002, 1, 2)`);
  t.deepEqual(values(await ask(all)), [[1003, 5510]], "while something is added");
});

test("sums answer supported groups, and are built if that saves work", async (t) => {
  const { connection, database, known, ask } = await openSums(t);
  await connection.run(`insert into events
    select ${MORNING} + i * 3600000, i, 1, i % 10 from range(0, 10000) rows(i)`);
  const bound = (op: "<" | ">=", ms: number): Condition => ({
    kind: "number",
    field: "created",
    op,
    value: MORNING + ms,
  });
  const since = (ms: number): Partial<GroupPlan> => ({
    where: bound(">=", ms),
  });
  t.is(await ask(since(9_000 * 3_600_000)), null, "a small part of all time");
  t.is(await ask({ aggregates: [COUNTS] }), null, "counts alone, for the first time");
  t.is((await ask({ aggregates: [COUNTS] }))?.length, 418);
  t.is((await ask(since(9_000 * 3_600_000)))?.length, 43, "once they are there");
  const within = (ms: number): Partial<GroupPlan> => ({
    where: { kind: "and", conditions: [bound(">=", 5), bound("<", ms + 5)] },
  });
  t.is((await ask(within(DAY_MS)))?.length, 2);
  t.is(await ask(within(DAY_MS - 1)), null, "a range of which all events are looked at as fast");
  const beside: Partial<GroupPlan>[] = [
    { where: { kind: "text", field: "source", op: "=", value: "web" } },
    { aggregates: [{ kind: "percentile", of: "value", percent: 50 }] },
    { aggregates: [{ kind: "sum", of: "@size" }] },
    { aggregates: [{ kind: "count", where: { kind: "absent", field: "source" } }] },
    { by: [{ kind: "period", unit: "minutes", count: 5, zone: fixedZone(0) }] },
    { by: [day(fixedZone(1))] },
    { by: [{ kind: "field", field: "source" }] },
    { by: [day(fixedZone(0)), { kind: "field", field: "source" }] },
    { from: { kind: "bookmarks", user: newUser() } },
  ];
  for (const fields of beside) t.is(await ask(fields), null, JSON.stringify(fields));
  Object.assign(known, { statistics: new Set<Statistic>(["early"]) });
  t.is((await ask())?.length, 418, "also where some event was created before 1970");
  database.mutationVersion = 1;
  await connection.run(`insert into events
    select ${MORNING} + i * ${SLICE_MS}, 10000 + i, 1, 1 from range(0, ${MOST_SLICES + 1}) rows(i)`);
  t.is(await ask(), null, "too many slices");
});

test("sums of decimals equal those over all events, to the digits shown", async (t) => {
  const { connection, ask } = await openSums(t);
  await connection.run(`insert into events
    select ${MORNING} + i * 60000, i, 1, (i * 7919 % 100000) / 100 - 300 from range(0, 500000) rows(i)`);
  for (const unit of ["hours", "days", "months"] as const) {
    const shift = `created + 3600000`;
    const key =
      unit === "months"
        ? `date_trunc('month', epoch_ms(${shift}))`
        : `(${shift}) // ${unit === "hours" ? 3_600_000 : DAY_MS}`;
    const sql = `select fsum(value) from events group by ${key} order by ${key}`;
    const expected = (await connection.runAndReadAll(sql)).getRows();
    const found = await ask({ by: [{ kind: "period", unit, count: 1, zone: fixedZone(60) }], aggregates: [SUMS] });
    t.deepEqual(
      found!.map(({ values }) => formatNumber(values[0] as number)),
      expected.map(([sum]) => formatNumber(sum as number)),
    );
  }
});
