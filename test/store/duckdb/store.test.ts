import test from "ava";
import { statSync } from "node:fs";
import { pino } from "pino";

import { LoggiaError } from "../../../src/errors.ts";
import { openDuckdbStore } from "../../../src/store/duckdb/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { fixedZone } from "../../../src/query/zone.ts";
import { event, groupPlan, listPlan, MORNING, newLog, row, texts, write } from "../../contract/store-fixture.ts";
import { until } from "../../support/until.ts";
import { writeEvents } from "../../support/write-events.ts";
import { usualGroups, hour } from "../../support/groups.ts";
import { open, newFile } from "./store-files.ts";

test("texts without a lower-case folding are found if written before or after a query, and after a restart", async (t) => {
  const file = newFile(t);
  const log = newLog();
  const kelvin = event(log, { source: "\u212aelvin", tags: ["stra\u00dfe"] });
  const tagged = event(log, { source: "plain", tags: ["Kelvin"] });
  const where = (field: "source" | "tags") => ({ kind: "text" as const, field, op: "=" as const, value: "kelvin" });
  const found = async (store: Store, field: "source" | "tags"): Promise<readonly string[]> =>
    (await store.list(listPlan(log, { where: where(field) }))).rows.map(({ id }) => id);
  const groups = async (store: Store): Promise<readonly unknown[]> =>
    (await usualGroups(store, groupPlan(log, { by: [{ kind: "field", field: "source" }] }))).map(({ key }) => key);
  {
    await using store = await open(file);
    await write(t, store, [event(log, { source: "Lamp" }), event(log, { source: "jar" })]);
    t.deepEqual([await found(store, "source"), await groups(store)], [[], ["jar", "Lamp"]]);
    const writing = write(t, store, [kelvin]);
    for (let i = 0; i < 20; i++) {
      const { total } = await store.list(listPlan(log));
      const ids = await found(store, "source");
      if (total === 3) t.deepEqual(ids, [kelvin.id]);
    }
    await writing;
    t.deepEqual([await found(store, "source"), await found(store, "tags")], [[kelvin.id], []]);
    await write(t, store, [tagged]);
    t.deepEqual(await found(store, "tags"), [tagged.id]);
  }
  await using store = await open(file);
  t.deepEqual([await found(store, "source"), await found(store, "tags")], [[kelvin.id], [tagged.id]]);
  t.deepEqual(await groups(store), ["jar", "\u212aelvin", "Lamp", "plain"]);
});

test("events of many logs are found in their log, in any order of writes, before and after a restart", async (t) => {
  const file = newFile(t);
  const events = Array.from({ length: 40 }, () => newLog()).flatMap((log) => [event(log), event(log)]);
  const mixed = [...events.filter((_, i) => i % 2 === 0), ...events.filter((_, i) => i % 2 === 1)];
  const unknown = newLog();
  const allAreFound = async (store: Store): Promise<void> => {
    for (const log of new Set(events.map((each) => each.log))) {
      const ids = events.filter((each) => each.log === log).map(({ id }) => id);
      t.deepEqual(
        (await store.list(listPlan(log))).rows.map(({ id }) => id),
        ids,
      );
    }
    t.is((await store.list(listPlan(unknown))).total, 0);
    const logs = [unknown, events[0]!.log, events.at(-1)!.log];
    t.is((await store.list({ ...listPlan(unknown), logs })).total, 4);
  };
  {
    await using store = await open(file);
    const [first, second, never] = [store.prepareEvents(), store.prepareEvents(), store.prepareEvents()];
    await first.add(mixed.slice(0, 30));
    await never.add([event(unknown)]);
    await second.add(mixed.slice(30));
    t.true((await store.writeEvents(second)).every(({ kind }) => kind === "done"));
    t.true((await store.writeEvents(first)).every(({ kind }) => kind === "done"));
    await allAreFound(store);
  }
  await using store = await open(file);
  await allAreFound(store);
  const late = event(unknown);
  await write(t, store, [late]);
  t.deepEqual((await store.list(listPlan(unknown))).rows, [row(late)]);
});

test("tags that differ only in case are two groups, beside tags without a lower-case folding", async (t) => {
  const log = newLog();
  await using store = await open(newFile(t));
  await write(t, store, [event(log, { tags: ["K", "k", "Stra\u00dfe"] }), event(log, { tags: ["\u212a"] })]);
  const groups = await usualGroups(store, groupPlan(log, { by: [{ kind: "field", field: "tags" }] }));
  t.deepEqual(
    groups.map(({ key, count }) => [key, count]),
    [
      ["K", 1],
      ["k", 1],
      ["\u212a", 1],
      ["Stra\u00dfe", 1],
    ],
  );
});

for (const field of ["text", "link", "tags", "source", "user", "class"] as const) {
  test(`one event among many whose ${field} alone is not ASCII is found ignoring case`, async (t) => {
    await using store = await open(newFile(t));
    const log = newLog();
    const odd = { [field]: field === "tags" ? ["plain", "\u00c4NN\u017f"] : "\u00c4NN\u017f" };
    const plain = { link: "x", tags: ["plain"], source: "web", user: "ann", class: "failure" };
    const events = Array.from({ length: 600 }, (_, i) =>
      event(log, { text: `number ${i}`, ...plain, ...(i === 300 && odd) }),
    );
    await write(t, store, events);
    const where = { kind: "contains", field, value: "\u00e4nns" } as const;
    t.deepEqual((await store.list(listPlan(log, { where }))).rows, [row(events[300]!)]);
  });
}

test("the write-ahead log is checkpointed once writes stop, while reads go on", async (t) => {
  const file = newFile(t);
  const log = newLog();
  await using store = await open(file);
  const text = "x".repeat(1_000);
  const outcomes = await writeEvents(
    store,
    Array.from({ length: 5_000 }, (_, i) => event(log, { text: `${i} ${text}` })),
  );
  // Measured in the turn of the event loop in which the write ended: on a slow machine the checkpoint
  // begins in the next one.
  t.true(statSync(`${file}.wal`).size > 4_000_000);
  t.true(outcomes.every(({ kind }) => kind === "done"));
  await until(
    async () => {
      t.is((await store.list(listPlan(log))).total, 5_000);
      return (statSync(`${file}.wal`, { throwIfNoEntry: false })?.size ?? 0) < 1_000;
    },
    { what: "the log of changes folded in" },
  );
});

test("days and hours before 1970 are distinct for earlier readers too, and after a restart", async (t) => {
  const file = newFile(t);
  const log = newLog();
  const early = [-3_600_000, -1, 0, 1].map((created) => ({ ...event(log), created }));
  const hours = async (store: Store): Promise<readonly unknown[]> =>
    (await usualGroups(store, groupPlan(log, { by: [hour(fixedZone(0))] }))).map(({ key, count }) => [key, count]);
  const late = Math.floor(MORNING / 3_600_000) * 3_600_000;
  const expected = [
    [-3_600_000, 2],
    [0, 2],
    [late, 1],
  ];
  {
    await using store = await open(file);
    await write(t, store, [event(log)]);
    t.deepEqual(await hours(store), [[late, 1]]);
    await write(t, store, early);
    t.deepEqual(await hours(store), expected);
  }
  await using store = await open(file);
  t.deepEqual(await hours(store), expected);
});

test("pages near either end equal those of the whole list, however the events are spread", async (t) => {
  const file = newFile(t);
  const [log, other] = [newLog(), newLog()];
  // Dense at first, then with growing gaps; some share a moment, among many more of another log.
  const at = Array.from({ length: 300 }, (_, i) => MORNING + (i < 200 ? i >> 1 : 200 + (i - 200) ** 3));
  const events = at.map((created) => event(log, { created, text: String(created) }));
  const others = Array.from({ length: 1_000 }, (_, i) => event(other, { created: MORNING + i }));
  await using store = await open(file);
  await write(t, store, [...events, ...others]);
  for (const direction of ["asc", "desc"] as const) {
    const sorted = direction === "asc" ? events : events.toReversed();
    for (const [skip, take] of [
      [0, 1],
      [0, 40],
      [7, 3],
      [199, 60],
      [290, 50],
      [300, 5],
    ] as const) {
      const page = await store.list(listPlan(log, { sort: [{ field: "created", direction }], skip, take }));
      t.is(page.total, 300);
      t.deepEqual(
        page.rows.map(({ id }) => id),
        sorted.slice(skip, skip + take).map(({ id }) => id),
      );
    }
  }
});

test("an event that cannot be stored is rejected alone and holds back the position", async (t) => {
  await using store = await open(newFile(t));
  const log = newLog();
  const events = Array.from({ length: 9 }, (_, i) => event(log, { text: String(i) }));
  const broken = { ...events[4]!, created: 2 ** 70 };
  const outcomes = await writeEvents(store, events.with(4, broken), { topic: "events", partition: 0, offset: 1 });
  t.deepEqual(
    outcomes.map(({ kind }) => kind),
    events.map((_, i) => (i === 4 ? "rejected" : "done")),
  );
  t.deepEqual(await texts(store, listPlan(log)), ["0", "1", "2", "3", "5", "6", "7", "8"]);
  t.is(await store.nextOffset("events", 0), null, "it moves on once the dead letter is safe");
  await write(t, store, events);
  t.is((await store.list(listPlan(log))).total, 9);
});

test("an event that cannot be stored hides no other one with its id", async (t) => {
  await using store = await open(newFile(t));
  const log = newLog();
  const [one, other] = [event(log, { text: "one" }), event(log, { text: "other" })];
  const outcomes = await writeEvents(store, [other, { ...one, created: 2 ** 70 }, one]);
  t.deepEqual(
    outcomes.map(({ kind }) => kind),
    ["done", "rejected", "done"],
  );
  t.deepEqual((await texts(store, listPlan(log))).toSorted(), ["one", "other"]);
});

test("written events are not written again, and events of another store not at all", async (t) => {
  await using store = await open(newFile(t));
  const prepared = store.prepareEvents();
  await prepared.add([event(newLog())]);
  await store.writeEvents(prepared);
  await t.throwsAsync(store.writeEvents(prepared), { message: "these events have been written" });
  const strange = { length: 1, ids: () => [], add: async () => {}, pick: async () => strange };
  await t.throwsAsync(store.writeEvents(strange), { message: "these events were prepared by another store" });
});

test("a list shows one moment while events are written", async (t) => {
  await using store = await open(newFile(t));
  const log = newLog();
  const batches = Array.from({ length: 40 }, (_, i) =>
    Array.from({ length: 50 }, (_, k) => event(log, { created: MORNING + i * 50 + k })),
  );
  const writing = Promise.all(batches.map((batch) => writeEvents(store, batch)));
  let seen = 0;
  while (seen < 2000) {
    const pages = await Promise.all(
      (["asc", "desc"] as const).map((direction) =>
        store.list(listPlan(log, { sort: [{ field: "created", direction }], take: 5000 })),
      ),
    );
    for (const { rows, total } of pages) {
      t.is(rows.length, total);
      t.is(total % 50, 0);
      t.true(total >= seen);
    }
    seen = Math.min(...pages.map(({ total }) => total));
  }
  t.true((await writing).flat().every(({ kind }) => kind === "done"));
});

test("a query that exceeds its time limit is interrupted with an error; the next one is answered", async (t) => {
  const log = newLog();
  const options = { file: newFile(t), log: pino({ level: "silent" }), threads: 1, readTimeout_ms: 20 };
  await using store = await openDuckdbStore(options);
  const many = Array.from({ length: 40_000 }, (_, i) => event(log, { text: `x${"ab".repeat(200)} ${i}` }));
  await write(t, store, many);
  // Takes ten seconds or more, so that it is still running when this process, which may be busy,
  // notices that the time is over.
  const slow = {
    kind: "or",
    conditions: Array.from({ length: 100 }, (_, i) => ({
      kind: "matches" as const,
      field: "text" as const,
      pattern: `(a?b?){200}(a|b)+[^a]{${50 + i}}x`,
    })),
  } as const;
  const error = await t.throwsAsync(usualGroups(store, groupPlan([log], { where: slow })), { instanceOf: LoggiaError });
  t.is(error.code, "overloaded");
  t.is(error.message, "The query took longer than 0.02 s: narrow it, for example by time");
  const find = () => store.find({ kind: "events" }, log, many[7]!.id);
  t.is((await until(find, { what: "an answer that is quick" })).text, many[7]!.text);
});
