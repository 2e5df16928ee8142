import test from "ava";

import { fold } from "../../src/events/text.ts";
import type { LogKey } from "../../src/events/event.ts";
import type { Condition, Direction, ListPlan, SortField } from "../../src/query/plan.ts";
import { periodKeyFormat } from "../../src/query/calendar.ts";
import { fixedZone, parseZone } from "../../src/query/zone.ts";
import { event, groupPlan, listPlan, MORNING, newLog, texts, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";
import { until } from "../support/until.ts";
import { MAX, USUAL, day, hour, month, usualGroups } from "../support/groups.ts";

const HOUR = 3_600_000;

/** Tests of order and groups. */
export function listContract(adapter: StoreAdapter): void {
  sortContract(adapter);
  groupContract(adapter);
}

function sortContract({ name, open }: StoreAdapter): void {
  test(`${name}: lists are ordered by time, and by id within one moment`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = [0, 0, 0, 1, 1, 2].map((ms, i) => event(log, { created: MORNING + ms, text: `event ${i}` }));
    await write(t, store, events.toReversed());
    const ascending = events.map(({ text }) => text);
    t.deepEqual(await texts(store, listPlan(log)), ascending);
    t.deepEqual(await texts(store, listPlan(log, { sort: [{ field: "created", direction: "asc" }] })), ascending);
    t.deepEqual(
      await texts(store, listPlan(log, { sort: [{ field: "created", direction: "desc" }] })),
      ascending.toReversed(),
    );
    t.deepEqual(
      await texts(store, listPlan(log, { sort: [{ field: "id", direction: "desc" }] })),
      ascending.toReversed(),
    );
  });

  test(`${name}: matches of an expression have the same order, page by page`, async (t) => {
    const store = await open(t);
    const log = newLog();
    // Times given by the producer: the order of acceptance differs.
    const events = [2, 0, 1, 0, 2, 1, 0].map((ms, i) => ({
      ...event(log, { text: `job ${i} failed` }),
      created: MORNING + ms,
    }));
    await write(t, store, [...events.slice(3), ...events.slice(0, 3)]);
    const where = { kind: "matches", field: "text", pattern: "^job [0-9] failed$" } as const;
    const ascending = [1, 3, 6, 2, 5, 0, 4].map((i) => `job ${i} failed`);
    const inOrder = (sort: ListPlan["sort"], page?: Partial<ListPlan>): Promise<string[]> =>
      texts(store, listPlan(log, { where, sort, ...page }));
    t.deepEqual(await inOrder([]), ascending);
    t.deepEqual(await inOrder([{ field: "created", direction: "asc" }]), ascending);
    t.deepEqual(await inOrder([{ field: "created", direction: "desc" }]), ascending.toReversed());
    t.deepEqual(
      await inOrder([{ field: "created", direction: "desc" }], { skip: 2, take: 3 }),
      ascending.toReversed().slice(2, 5),
    );
    t.deepEqual(await inOrder([{ field: "text", direction: "asc" }]), ascending.toSorted());
    t.deepEqual(
      await inOrder([
        { field: "created", direction: "desc" },
        { field: "text", direction: "asc" },
      ]),
      [0, 4, 2, 5, 1, 3, 6].map((i) => `job ${i} failed`),
    );
  });

  test(`${name}: each field sorts in both directions, absent first, ties by time in the same direction`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const fields = ["", "b", "A", "a", "ß", "Z", "\u{10000}", "\uffff"].map((each) => ({
      link: each,
      source: each,
      user: each,
      class: each === "" ? null : each,
    }));
    const values = [null, 2, -1, -1, 1e9, 0.5, -1e-9, 10];
    await write(
      t,
      store,
      fields.map((each, i) => event(log, { ...each, created: MORNING + i, text: String(i), value: values[i]! })),
    );
    const expected = {
      // By code point after case folding.
      text: ["0", "2", "3", "1", "5", "4", "7", "6"],
      value: ["0", "2", "3", "6", "5", "1", "7", "4"],
    };
    const sorted = (field: SortField, direction: Direction): Promise<string[]> =>
      texts(store, listPlan(log, { sort: [{ field, direction }] }));
    for (const field of ["link", "source", "user", "class"] as const) {
      t.deepEqual(await sorted(field, "asc"), expected.text, field);
      t.deepEqual(await sorted(field, "desc"), expected.text.toReversed(), field);
    }
    t.deepEqual(await sorted("value", "asc"), expected.value);
    t.deepEqual(await sorted("value", "desc"), expected.value.toReversed());
    t.deepEqual(await sorted("text", "desc"), ["7", "6", "5", "4", "3", "2", "1", "0"]);
  });

  test(`${name}: several sort keys apply one after the other, over several logs`, async (t) => {
    const store = await open(t);
    const logs = [newLog(), newLog()].toSorted() as [LogKey, LogKey];
    const events = Array.from({ length: 12 }, (_, i) =>
      event(logs[i % 2]!, { created: MORNING + i, text: String(i), source: i % 3 ? "Low" : "high", value: i % 4 }),
    );
    await write(t, store, events);
    const plan = listPlan(logs, {
      sort: [
        { field: "log", direction: "desc" },
        { field: "source", direction: "asc" },
        { field: "value", direction: "desc" },
      ],
    });
    t.deepEqual(await texts(store, plan), ["3", "9", "11", "7", "5", "1", "6", "0", "10", "2", "8", "4"]);
  });
}

function groupContract({ name, open }: StoreAdapter): void {
  test(`${name}: days and hours follow a fixed offset`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const midnight = Date.UTC(2012, 1, 29);
    const moments = [-1, 0, 1, 3.5 * HOUR - 1, 3.5 * HOUR, 18.25 * HOUR - 1, 18.25 * HOUR, 24 * HOUR];
    await write(
      t,
      store,
      moments.map((ms, i) => event(log, { created: midnight + ms, value: i })),
    );
    const counts = async (period: typeof day, offset_min: number): Promise<[number, number][]> => {
      const groups = await usualGroups(store, groupPlan(log, { by: [period(fixedZone(offset_min))] }));
      return groups.map(({ key, count }) => [(Number(key) - midnight) / 60_000 - offset_min, count]);
    };
    t.deepEqual(await counts(day, 0), [
      [-1440, 1],
      [0, 6],
      [1440, 1],
    ]);
    t.deepEqual(await counts(day, -210), [
      [-1230, 4],
      [210, 4],
    ]);
    t.deepEqual(await counts(day, 345), [
      [-345, 6],
      [1095, 2],
    ]);
    t.deepEqual(await counts(hour, 0), [
      [-60, 1],
      [0, 2],
      [180, 2],
      [1080, 2],
      [1440, 1],
    ]);
    t.deepEqual(await counts(hour, -210), [
      [-30, 3],
      [150, 1],
      [210, 1],
      [1050, 2],
      [1410, 1],
    ]);
    t.deepEqual(await counts(hour, 345), [
      [-45, 3],
      [195, 2],
      [1035, 1],
      [1095, 1],
      [1395, 1],
    ]);
  });

  test(`${name}: days and hours follow the calendar of a time zone across clock changes`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const moments = [
      ["2026-03-28T23:30Z", 1],
      ["2026-03-29T00:30Z", 2],
      ["2026-03-29T01:30Z", 3],
      ["2026-03-29T21:59:59.999Z", 4],
      ["2026-03-29T22:00Z", 5],
      ["2026-10-24T21:59Z", 6],
      ["2026-10-25T00:30Z", 7],
      ["2026-10-25T01:00Z", 8],
      ["2026-10-25T02:00Z", 9],
      ["2026-10-25T22:59Z", 10],
    ] as const;
    const events = moments.map(([at, value]) => event(log, { created: Date.parse(at), value }));
    await write(t, store, events);
    const zone = parseZone("Europe/Berlin");
    const groups = async (period: typeof day, where?: Condition): Promise<[string, number, number | null][]> => {
      const by = period(zone);
      const found = await usualGroups(store, groupPlan(log, { by: [by], ...(where !== undefined && { where }) }));
      return found.map(({ key, count, avg }) => [periodKeyFormat(by)(Number(key)), count, avg]);
    };
    t.deepEqual(await groups(day), [
      ["3/29/2026", 4, 2.5],
      ["3/30/2026", 1, 5],
      ["10/24/2026", 1, 6],
      ["10/25/2026", 4, 8.5],
    ]);
    const october = [
      ["10/25/2026 02:00", 1, 7],
      ["10/25/2026 02:00 +01:00", 1, 8],
      ["10/25/2026 03:00", 1, 9],
      ["10/25/2026 23:00", 1, 10],
    ] as [string, number, number][];
    t.deepEqual((await groups(hour)).slice(-5), [["10/24/2026 23:00", 1, 6], ...october]);
    const since = { kind: "number", field: "created", op: ">=", value: Date.parse("2026-10-24T22:00Z") } as const;
    t.deepEqual(await groups(hour, since), october);
    t.deepEqual(await groups(day, since), [["10/25/2026", 4, 8.5]]);
  });

  test(`${name}: a time offset may be weeks, as COMPARE sets it`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const moments = ["2026-09-30T23:00Z", "2026-10-23T22:59Z", "2026-10-23T23:00Z", "2026-10-24T21:59Z"];
    await write(
      t,
      store,
      moments.map((at) => event(log, { created: Date.parse(at) })),
    );
    const counts = async (period: typeof day): Promise<[string, number][]> => {
      const by = period({ offset_ms: 8 * 24 * HOUR + HOUR, changes: [] });
      const found = await usualGroups(store, groupPlan(log, { by: [by] }));
      return found.map(({ key, count }) => [periodKeyFormat(by)(Number(key)), count]);
    };
    t.deepEqual(await counts(month), [
      ["10/2026", 2],
      ["11/2026", 2],
    ]);
    t.deepEqual(await counts(day), [
      ["10/9/2026", 1],
      ["10/31/2026", 1],
      ["11/1/2026", 2],
    ]);
  });

  test(`${name}: groups have count, average, sum, minimum and maximum of the present values`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const rows: [string, number | null][] = [
      ["a", 1],
      ["a", 2],
      ["a", null],
      ["b", null],
      ["", -4],
    ];
    await write(
      t,
      store,
      rows.map(([source, value]) => event(log, { source, value })),
    );
    t.deepEqual(await usualGroups(store, groupPlan(log, { by: [{ kind: "field", field: "source" }] })), [
      { key: "", count: 1, avg: -4, sum: -4, min: -4, max: -4 },
      { key: "a", count: 3, avg: 1.5, sum: 3, min: 1, max: 2 },
      { key: "b", count: 1, avg: null, sum: null, min: null, max: null },
    ]);
    t.deepEqual(await usualGroups(store, groupPlan(newLog())), []);
    t.deepEqual(await usualGroups(store, groupPlan([])), []);
  });

  test(`${name}: group keys are exact and sorted ignoring case; an event is in the groups of all its tags`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(t, store, [
      event(log, { tags: ["b", "A"], class: "x", value: 1 }),
      event(log, { tags: ["a", "B"], class: null, value: 0.5 }),
      event(log, { tags: ["a"], class: "x" }),
      event(log, { tags: [], class: "y", value: 1 }),
    ]);
    const by = async (field: "tags" | "class" | "value"): Promise<unknown> =>
      (await usualGroups(store, groupPlan(log, { by: [{ kind: "field", field }] }))).map(({ key, count }) => [
        key,
        count,
      ]);
    t.deepEqual(await by("tags"), [
      ["", 1],
      ["A", 1],
      ["a", 2],
      ["B", 1],
      ["b", 1],
    ]);
    t.deepEqual(await by("class"), [
      ["", 1],
      ["x", 2],
      ["y", 1],
    ]);
    t.deepEqual(await by("value"), [
      [null, 1],
      [0.5, 1],
      [1, 2],
    ]);
  });

  test(`${name}: groups sort by any column, ties by key, with offset and limit`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const rows: [string, number | null][] = [
      ["c", 5],
      ["b", 1],
      ["b", 2],
      ["a", 5],
      ["d", null],
    ];
    await write(
      t,
      store,
      rows.map(([source, value]) => event(log, { source, value })),
    );
    const keys = async (
      by: "key" | "count" | "avg" | "sum" | "min" | "max",
      direction: Direction,
      rest = {},
    ): Promise<string> => {
      const indexOf = (name: typeof by): "key" | number =>
        name === "key" ? name : USUAL.findIndex(({ kind }) => kind === name);
      const plan = groupPlan(log, {
        by: [{ kind: "field", field: "source" }],
        sort: { by: indexOf(by), direction },
        ...rest,
      });
      return (await usualGroups(store, plan)).map(({ key }) => key).join("");
    };
    t.is(await keys("key", "asc"), "abcd");
    t.is(await keys("key", "desc"), "dcba");
    t.is(await keys("count", "desc"), "bacd");
    t.is(await keys("sum", "desc"), "acbd");
    t.is(await keys("sum", "asc"), "dbac");
    t.is(await keys("avg", "asc"), "dbac");
    t.is(await keys("min", "desc"), "acbd");
    t.is(await keys("max", "asc"), "dbac");
    t.is(await keys("key", "asc", { skip: 1, take: 2 }), "bc");
    t.is(await keys("count", "desc", { take: 1 }), "b");
    t.is(await keys("key", "asc", { skip: 9 }), "");
  });

  test(`${name}: returns more than 10,000 groups completely`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const size = 10_500;
    const events = Array.from({ length: size }, (_, i) =>
      event(log, { created: MORNING + i, user: `User ${i}`, value: i }),
    );
    for (let start = 0; start < size; start += 3500) await write(t, store, events.slice(start, start + 3500));
    const groups = await usualGroups(store, groupPlan(log, { by: [{ kind: "field", field: "user" }] }));
    t.is(groups.length, size);
    t.deepEqual(
      groups.map(({ key }) => fold(String(key))),
      events.map(({ user }) => fold(user)).sort(),
    );
    const last = await usualGroups(
      store,
      groupPlan(log, { by: [{ kind: "field", field: "user" }], sort: { by: MAX, direction: "desc" }, take: 1 }),
    );
    t.deepEqual(last, [
      { key: `User ${size - 1}`, count: 1, avg: size - 1, sum: size - 1, min: size - 1, max: size - 1 },
    ]);
  });

  test(`${name}: refuses more groups than an answer holds, unless the query limits them`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const tagsOf = (i: number) => Array.from({ length: 1_000 }, (_, k) => `tag ${i} ${k}`);
    await write(
      t,
      store,
      Array.from({ length: 101 }, (_, i) => event(log, { created: MORNING + i, tags: tagsOf(i) })),
    );
    const by = [{ kind: "field", field: "tags" }] as const;
    // On a busy machine a cluster may exceed the time limit of a query with so many groups.
    const patience = { what: "an answer in time", timeout_ms: 120_000 };
    const refusal = await until(async () => {
      const { message } = (await t.throwsAsync(usualGroups(store, groupPlan(log, { by })))) ?? new Error("not refused");
      return /did not respond in time|took longer than/.test(message) ? null : message;
    }, patience);
    t.regex(refusal, /more than 100000 groups.*TAKE/);
    const [first, ...others] = await until(() => usualGroups(store, groupPlan(log, { by, take: 3 })), patience);
    t.is(first?.key, "tag 0 0");
    t.is(others.length, 2);
  });

  test(`${name}: sums do not drift`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(
      t,
      store,
      Array.from({ length: 3000 }, () => event(log, { value: 0.1 })),
    );
    const [group] = await usualGroups(store, groupPlan(log));
    t.true(Math.abs(group!.sum! - 300) < 1e-9);
    t.true(Math.abs(group!.avg! - 0.1) < 1e-12);
  });
}
