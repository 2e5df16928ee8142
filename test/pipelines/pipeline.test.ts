import test from "ava";
import type { AcceptedEvent } from "../../src/events/event.ts";
import { encodeLine, encodeRecord } from "../../src/events/record.ts";
import { hashText } from "../../src/events/hash.ts";
import { until } from "../support/until.ts";
import {
  accept,
  addSubscriber,
  alertsOf,
  caughtUp,
  classFilter,
  deadLetters,
  makeLog,
  post,
  rows,
  start,
  uniqueLog,
} from "./fixture.ts";
import { ENGINE_KINDS } from "./engine-kinds.ts";

for (const { name, open } of ENGINE_KINDS) {
  test(`${name}: accepted events are stored with hash and class`, async (t) => {
    const ports = await open(t);
    const { log } = await makeLog(ports.catalog);
    await ports.catalog.createClassFilter(log, classFilter("failure", { tag: "error" }));
    const events = [
      accept(log, {
        text: "Disk full",
        tags: ["ERROR", "disk"],
        value: 1.5,
        geo: { lat: 40.5, lon: -76.25 },
        data: "x",
      }),
      accept(log, { text: "half a pair \ud83d", source: "s\udc00", tags: ["t\ud800"] }),
      accept(log, { text: "from somewhere", geo: { ip: "203.0.113.9" } }),
      accept(log, { text: "from nowhere", geo: { ip: "203.0.113.10" } }),
    ];
    await post(ports.bus, events, 2);
    const pipeline = await start(t, ports, { locate: (ip) => (ip.endsWith(".9") ? { lat: 1.5, lon: 2.5 } : null) });
    await caughtUp(pipeline);

    const stored = await rows(ports.store, log);
    t.deepEqual(
      stored.map(({ id }) => id),
      events.map(({ id }) => id),
    );
    t.like(stored[0], { class: "failure", text: "Disk full", value: 1.5, data: true, hash: hashText("Disk full") });
    t.like(stored[1], {
      class: null,
      text: "half a pair \ufffd",
      source: "s\ufffd",
      hash: hashText("half a pair \ufffd"),
    });
    t.deepEqual(stored[1]?.tags, ["t\ufffd"]);
    t.deepEqual(
      stored.map(({ geo }) => geo),
      [{ lat: 40.5, lon: -76.25 }, null, { lat: 1.5, lon: 2.5 }, { ip: "203.0.113.10" }],
    );
    t.like(pipeline.stats(), { records: 2, events: { decoded: 4, done: 4, retried: 0 }, batches: { failed: 0 } });
  });

  test(`${name}: an event of an unknown log is stored without a class`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const event = accept(log, { tags: ["error"] });
    await post(ports.bus, [event]);
    await caughtUp(await start(t, ports));
    t.like((await rows(ports.store, log))[0], { id: event.id, class: null });
  });

  test(`${name}: each subscriber has one alert per event, however often it is delivered`, async (t) => {
    const ports = await open(t);
    const { log, owner } = await makeLog(ports.catalog);
    await ports.catalog.createClassFilter(log, classFilter("failure", { tag: "error" }));
    const readers = [
      await addSubscriber(ports.catalog, log, "failure"),
      await addSubscriber(ports.catalog, log, "failure"),
    ];
    const events = [accept(log, { tags: ["error"] }), accept(log, {}), accept(log, { tags: ["error"] })];
    const wanted = [events[0]!.id, events[2]!.id];
    await post(ports.bus, events, 1);
    const pipeline = await start(t, ports);
    await caughtUp(pipeline);
    await post(ports.bus, events, 3);
    await post(ports.bus, [...events, ...events], 6);
    await caughtUp(pipeline);

    for (const reader of readers) {
      const alerts = await alertsOf(ports.store, log, reader);
      t.deepEqual(
        alerts.map(({ id }) => id),
        wanted,
      );
    }
    t.deepEqual(await alertsOf(ports.store, log, owner), [], "the owner asked for none");
    t.is((await rows(ports.store, log)).length, 3);
  });

  test(`${name}: malformed lines become dead letters with reason and position, all others are stored`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const good = Array.from({ length: 6 }, (_, i) => accept(log, { text: `good ${i}` }));
    const [first, second, third, fourth, fifth, sixth] = good.map(encodeLine) as [string, ...string[]];
    const value = (lines: (string | undefined)[]): Buffer => encodeRecord(log, lines as string[]);
    const garbage = Buffer.from([0xff, 0x00, 0x0a, 0x80, 0x7b]);
    const records = [
      value([first]),
      value(["{oops", second, `{"id":"short"}`, third]),
      Buffer.alloc(0),
      garbage,
      Buffer.from(value([fourth]).toString().replace('"v":1', '"v":99')),
      value([fourth]),
      value([fifth, JSON.stringify({ ...good[0], created: "now" }), sixth]),
    ];
    await ports.bus.append(
      "events",
      records.map((value) => ({ key: log, value })),
    );
    const pipeline = await start(t, ports);
    await caughtUp(pipeline);

    t.deepEqual(
      (await rows(ports.store, log)).map(({ text }) => text),
      good.map(({ text }) => text),
    );
    const letters = (await deadLetters(ports.bus)).toSorted(
      (a, b) => a.origin.offset - b.origin.offset || a.origin.line - b.origin.line,
    );
    const start_offset = letters[0]!.origin.offset - 1;
    t.deepEqual(
      letters.map(({ origin, stage }) => [origin.offset - start_offset, origin.line, stage]),
      [
        [1, 1, "decode"],
        [1, 3, "decode"],
        [2, 0, "decode"],
        [3, 0, "decode"],
        [4, 0, "decode"],
        [6, 2, "decode"],
      ],
    );
    const reasons = [/JSON/, /24 hex digits/, /JSON/, /JSON/, /version is 99/, /created/];
    letters.forEach(({ reason }, i) => t.regex(reason, reasons[i]!));
    t.deepEqual(letters[2]!.content, Buffer.alloc(0));
    t.deepEqual(letters[3]!.content, garbage);
    t.deepEqual(letters[0]!.content, encodeRecord(log, ["{oops"]));
    t.is(pipeline.stats().deadLetters.decode, 6);
  });

  test(`${name}: a change of class filters applies to a running pipeline`, async (t) => {
    const ports = await open(t);
    const { log } = await makeLog(ports.catalog);
    const pipeline = await start(t, ports);
    const classNow = async (event: AcceptedEvent): Promise<string | null> => {
      await post(ports.bus, [event]);
      await caughtUp(pipeline);
      return (await rows(ports.store, log)).at(-1)!.class;
    };
    t.is(await classNow(accept(log, { tags: ["a"] })), null);
    await ports.catalog.createClassFilter(log, classFilter("first", { tag: "a" }));
    t.is(await classNow(accept(log, { tags: ["a"] })), "first");
    await ports.catalog.createClassFilter(log, classFilter("second", { tag: "a", weight: 9 }));
    t.is(await classNow(accept(log, { tags: ["a"] })), "second");
    await ports.catalog.deleteClassFilter(log, "second");
    await ports.catalog.updateClassFilter(log, "first", classFilter("first", { tag: "b" }));
    t.is(await classNow(accept(log, { tags: ["a"] })), null);
  });

  test(`${name}: a record with more events than one write is stored in several`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const events = Array.from({ length: 2_500 }, () => accept(log));
    const sizes: number[] = [];
    const positions: boolean[] = [];
    const store: typeof ports.store = {
      ...ports.store,
      writeEvents: (events, position) => {
        sizes.push(events.length);
        positions.push(position !== undefined);
        return ports.store.writeEvents(events, position);
      },
    };
    await post(ports.bus, events, 2_500);
    await caughtUp(await start(t, { ...ports, store }, { maxEvents: 1_000 }));
    t.deepEqual(sizes, [1_000, 1_000, 500]);
    t.deepEqual(positions, [false, false, true]);
    t.is((await rows(ports.store, log)).length, 2_500);
  });

  test(`${name}: writes are limited in bytes`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const events = Array.from({ length: 100 }, () => accept(log, { data: "x".repeat(5_000) }));
    const sizes: number[] = [];
    const store: typeof ports.store = {
      ...ports.store,
      writeEvents: (events, position) => {
        sizes.push(events.length);
        return ports.store.writeEvents(events, position);
      },
    };
    await post(ports.bus, events, 50);
    await caughtUp(await start(t, { ...ports, store }, { maxBytes: 60_000 }));
    t.true(Math.max(...sizes) <= 11, String(sizes));
    t.is((await rows(ports.store, log)).length, 100);
  });

  test(`${name}: a restarted pipeline continues where it was closed`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const events = Array.from({ length: 3_000 }, () => accept(log));
    await post(ports.bus, events, 1);
    let rounds = 0;
    for (let stored = 0; stored < events.length; rounds++) {
      const pipeline = await start(t, ports, { maxEvents: 100 });
      const left = Math.min(3, Math.ceil((events.length - stored) / 100));
      await until(() => pipeline.stats().batches.acked >= left, { what: "some batches", interval_ms: 1 });
      await pipeline.close(60_000);
      await pipeline.done;
      t.is(pipeline.stats().batches.failed, 0, "what was begun was finished");
      stored += pipeline.stats().events.done;
    }
    t.true(rounds > 1);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      events.map(({ id }) => id),
    );
  });
}
