import test from "ava";

import type { StoredEvent } from "../../src/events/event.ts";
import { event, idAt, listPlan, MORNING, newLog, pageOf, row, texts, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";
import { until } from "../support/until.ts";
import { writeAlerts, writeEvents } from "../support/write-events.ts";

const FULL: Partial<StoredEvent> = {
  text: "Disk full",
  link: "http://example.com/a?b=c",
  tags: ["Error", "disk", "a-1"],
  source: "Web-1",
  user: "ann@example.com",
  value: -42.5,
  geo: { lat: 40.1203, lon: -76.2944 },
  data: "@html\n<b>x</b>",
  class: "errors",
};

const ODD_TEXTS = [
  "\u0000",
  "a\u0000b\u0001\u001f",
  "\ufeffbegins with a mark",
  "'; drop table events; --",
  '"quoted" \\ \\u0000 \\n {json: [1]} $1 ? %s',
  "line\nbreak\r\ttab \u0085\u2028\u2029",
  "naïve naïve Straße ΣΊΣΥΦΟΣ ǅ ﬁ İı",
  "\u{1f600}\u{10ffff}\uffff\ufffd\ufdd0",
  "\u202eright to left\u200d",
  " leading and trailing ",
  "x".repeat(5000),
];

const NUMBERS = [
  0,
  1,
  -1,
  0.1,
  1 / 3,
  5e-324,
  1e-9,
  1e29,
  -1e29,
  123456789.123,
  Number.MAX_SAFE_INTEGER,
  -Number.MAX_SAFE_INTEGER,
];

/** Tests of writing events and reading them back. */
export function writeContract(adapter: StoreAdapter): void {
  createOnlyContract(adapter);
  fidelityContract(adapter);
  positionContract(adapter);
}

function createOnlyContract({ name, open }: StoreAdapter): void {
  test(`${name}: writing an event again changes nothing`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const first = event(log, FULL);
    await write(t, store, [first]);
    await write(t, store, [{ ...first, text: "Something else", tags: [], class: null }]);
    t.deepEqual(await pageOf(store, listPlan(log)), { rows: [row(first)], total: 1 });
  });

  test(`${name}: the first of two events with the same id in a batch is kept`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const first = event(log, { text: "first" });
    const other = event(log, { text: "other" });
    await write(t, store, [first, other, { ...first, text: "second" }, first]);
    t.deepEqual(await texts(store, listPlan(log)), ["first", "other"]);
  });

  test(`${name}: a deleted event stays deleted, however it is written again`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const [gone, kept, late] = [
      event(log, { text: "gone" }),
      event(log, { text: "kept" }),
      event(log, { text: "late" }),
    ];
    await write(t, store, [gone, kept]);
    t.true(await store.deleteEvent(log, gone.id));
    t.false(await store.deleteEvent(log, gone.id));
    await write(t, store, [gone]);
    await write(t, store, [late, gone, kept, gone]);
    t.deepEqual(await texts(store, listPlan(log)), ["kept", "late"]);
    t.is(await store.find({ kind: "events" }, log, gone.id), null);
    t.is(await store.data(log, gone.id), undefined);
  });

  test(`${name}: an event is deleted from its own log alone`, async (t) => {
    const store = await open(t);
    const [log, other] = [newLog(), newLog()];
    const kept = event(log);
    await write(t, store, [kept]);
    t.false(await store.deleteEvent(other, kept.id));
    t.false(await store.deleteEvent(log, idAt(MORNING)));
    t.deepEqual(await store.find({ kind: "events" }, log, kept.id), row(kept));
  });

  test(`${name}: events accepted earlier may be written later, among stored ones`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = [0, 1, 2, 3, 4].map((hour) =>
      event(log, { created: MORNING + hour * 3_600_000, text: `hour ${hour}` }),
    );
    const [zero, one, two, three, four] = events as [StoredEvent, StoredEvent, StoredEvent, StoredEvent, StoredEvent];
    await write(t, store, [three]);
    await write(t, store, [one]);
    await write(t, store, [four, three, zero, two, one]);
    t.deepEqual(await texts(store, listPlan(log)), ["hour 0", "hour 1", "hour 2", "hour 3", "hour 4"]);
    t.is((await store.list(listPlan(log))).total, 5);
  });

  test(`${name}: a batch of 6,000 is stored completely, and a replay of it adds nothing`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = Array.from({ length: 6000 }, (_, i) => event(log, { created: MORNING + i, text: `event ${i}` }));
    await write(t, store, events);
    await write(t, store, events);
    const page = await store.list(listPlan(log, { skip: 5990, take: 500 }));
    t.is(page.total, 6000);
    t.deepEqual(page.rows, events.slice(5990).map(row));
  });

  test(`${name}: events are prepared in steps, picked, and written once, however they are delivered`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = Array.from({ length: 30 }, (_, i) => event(log, { created: MORNING + i, text: `event ${i}` }));
    const ids = events.map(({ id }) => id);
    const prepared = store.prepareEvents();
    await prepared.add(events.slice(0, 7));
    await prepared.add([]);
    await prepared.add(events.slice(7));
    t.is(prepared.length, 30);
    t.deepEqual(prepared.ids(), ids);
    const odd = [...ids.keys()].filter((i) => i % 2 === 1);
    const picked = await prepared.pick(odd);
    t.deepEqual(
      picked.ids(),
      odd.map((i) => ids[i]),
    );
    t.is((await store.writeEvents(await picked.pick([0, 3, 14]))).length, 3);
    await store.refresh();
    t.deepEqual(await texts(store, listPlan(log)), ["event 1", "event 7", "event 29"]);
    t.true((await store.writeEvents(prepared)).every(({ kind }) => kind === "done"));
    await write(t, store, [...events.toReversed(), ...events]);
    const page = await store.list(listPlan(log, { take: 100 }));
    t.deepEqual(page.rows, events.map(row));
  });

  test(`${name}: concurrent batches are all stored, and shared events are stored once`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const shared = event(log, { text: "shared" });
    const batches = Array.from({ length: 6 }, (_, i) => [event(log, { text: `own ${i}` }), shared]);
    const outcomes = await Promise.all(batches.map((batch) => writeEvents(store, batch)));
    t.true(outcomes.flat().every(({ kind }) => kind === "done"));
    await store.refresh();
    t.deepEqual((await texts(store, listPlan(log))).toSorted(), [
      "own 0",
      "own 1",
      "own 2",
      "own 3",
      "own 4",
      "own 5",
      "shared",
    ]);
  });
}

function fidelityContract({ name, open }: StoreAdapter): void {
  test(`${name}: an event is returned unchanged`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = [
      event(log, FULL),
      event(log),
      event(log, { geo: { ip: "2001:db8::1" } }),
      event(log, { geo: { lat: 0, lon: -180 } }),
      event(log, { tags: ["ERROR", "error", "ß"] }),
    ];
    await write(t, store, events);
    t.deepEqual((await store.list(listPlan(log))).rows, events.map(row));
    for (const each of events) t.deepEqual(await store.find({ kind: "events" }, log, each.id), row(each));
  });

  test(`${name}: any id of 24 digits is returned unchanged and found`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const second = Math.floor(MORNING / 1000).toString(16);
    const ends = ["0000000000000000", "0000000000000001", "00000000ffffffff", "3e7fffff00000000", "3e7fffffffffffff"];
    const events = ends.map((end) => event(log, { id: `${second}${end}` as StoredEvent["id"] }));
    await write(t, store, events);
    t.deepEqual((await store.list(listPlan(log))).rows, events.map(row));
    for (const each of events) t.deepEqual(await store.find({ kind: "events" }, log, each.id), row(each));
  });

  test(`${name}: texts of any characters are returned unchanged in every field`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = ODD_TEXTS.map((odd) =>
      event(log, {
        text: odd,
        link: odd,
        tags: [odd.replaceAll(/\s/g, "_"), "b"],
        source: odd,
        user: odd,
        data: odd,
        geo: null,
      }),
    );
    await write(t, store, events);
    t.deepEqual((await store.list(listPlan(log))).rows, events.map(row));
    for (const each of events) t.is(await store.data(log, each.id), each.data);
  });

  test(`${name}: values are returned to the last bit`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(
      t,
      store,
      NUMBERS.map((value) => event(log, { value })),
    );
    const page = await store.list(listPlan(log));
    t.deepEqual(
      page.rows.map(({ value }) => value),
      NUMBERS,
    );
  });

  test(`${name}: data is a text, null if the event has none, undefined if there is no event`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const [some, none] = [event(log, { data: "é\n".repeat(2560) }), event(log)];
    await write(t, store, [some, none]);
    t.is(await store.data(log, some.id), some.data);
    t.is(await store.data(log, none.id), null);
    t.is(await store.data(log, idAt(MORNING)), undefined);
    t.is(await store.data(newLog(), some.id), undefined);
  });

  test(`${name}: a record is found in its own log alone`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const stored = event(log, FULL);
    await write(t, store, [stored]);
    t.deepEqual(await store.find({ kind: "events" }, log, stored.id), row(stored));
    t.is(await store.find({ kind: "events" }, newLog(), stored.id), null);
    t.is(await store.find({ kind: "events" }, log, idAt(MORNING)), null);
  });
}

function positionContract({ name, open, keepsPositions }: StoreAdapter): void {
  test(`${name}: an empty batch writes nothing`, async (t) => {
    const store = await open(t);
    t.deepEqual(await writeEvents(store, []), []);
    t.deepEqual(await writeAlerts(store, []), []);
    // A ping has a limit of its own, which a busy machine may exceed.
    t.true(await until(() => store.ping().then(() => true), { what: "the store to answer" }));
  });

  test(`${name}: positions are ${keepsPositions ? "kept by partition, and never move back" : "left to the bus"}`, async (t) => {
    const store = await open(t);
    // Stores that share an engine share its partitions; this range belongs to the test alone.
    const partition = 1_000_000 + Math.floor(Math.random() * 1_000_000);
    const next = (topic: "events" | "dead-letters", of: number): Promise<number | null> => store.nextOffset(topic, of);
    t.is(await next("events", partition), null);
    await writeEvents(store, [event(newLog())], { topic: "events", partition, offset: 41 });
    await writeEvents(store, [], { topic: "events", partition: partition + 1, offset: 0 });
    t.deepEqual(
      [await next("events", partition), await next("events", partition + 1)],
      keepsPositions ? [42, 1] : [null, null],
    );
    await writeEvents(store, [], { topic: "events", partition, offset: 2 ** 40 });
    await writeEvents(store, [], { topic: "events", partition, offset: 7 });
    t.is(await next("events", partition), keepsPositions ? 2 ** 40 + 1 : null);
    t.is(await next("dead-letters", partition), null);
  });
}
