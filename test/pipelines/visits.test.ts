import test from "ava";

import type { LogKey } from "../../src/events/event.ts";
import { createIdSource } from "../../src/events/id.ts";
import { encodeLine, encodeRecord, encodeVisitLine } from "../../src/events/record.ts";
import type { Visit } from "../../src/events/visit.ts";
import { EVERYTHING } from "../../src/query/plan.ts";
import type { Store, TrackedUser } from "../../src/store/store.ts";
import { deadLetterRecord } from "../../pipelines/deadletters/codec.ts";
import { accept, caughtUp, deadLetters, overBus, rows, start, uniqueLog } from "./fixture.ts";
import type { Ports } from "./fixture.ts";
import { ENGINE_KINDS } from "./engine-kinds.ts";
import { until } from "../support/until.ts";

const nextId = createIdSource();

function visit(log: LogKey, fields: Partial<Visit> = {}): Visit {
  return { ...nextId(), log, user: "ann", email: "", page: "", ...fields };
}

/** Appends one record with these lines. */
async function append({ bus }: Ports, log: LogKey, lines: readonly string[]): Promise<void> {
  await bus.append("events", [{ key: log, value: encodeRecord(log, lines) }]);
}

async function users(store: Store, log: LogKey): Promise<readonly TrackedUser[]> {
  await store.refresh();
  const sort = [{ field: "user", direction: "asc" }] as const;
  return (await store.users({ kind: "users", logs: [log], where: EVERYTHING, sort, skip: 0, take: 500, columns: null }))
    .rows;
}

for (const { name, open } of ENGINE_KINDS) {
  test(`${name}: visits and events of one record are each stored, in several writes`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    const visits = Array.from({ length: 50 }, (_, i) => visit(log, { user: `user ${i % 5}`, page: `/${i}` }));
    const events = Array.from({ length: 50 }, () => accept(log));
    await append(
      ports,
      log,
      visits.flatMap((each, i) => [encodeVisitLine(each), encodeLine(events[i]!)]),
    );
    const pipeline = await start(t, ports, { maxEvents: 7 });
    await caughtUp(pipeline);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      events.map(({ id }) => id),
    );
    t.deepEqual(
      (await users(ports.store, log)).map(({ user, page, count }) => [user, page, count]),
      [0, 1, 2, 3, 4].map((i) => [`user ${i}`, `/${45 + i}`, 10]),
    );
    t.like(pipeline.stats(), { visits: 50, events: { decoded: 50, done: 50 } });
  });

  test(`${name}: a batch of visits alone moves the offset; after a crash before that, each visit still counts once`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    for (let i = 0; i < 10; i++) await append(ports, log, [encodeVisitLine(visit(log))]);
    let cuts = 0;
    const bus = overBus(ports.bus, {
      subscribe: (options, handler) =>
        ports.bus.subscribe(options, (batch) =>
          handler({
            ...batch,
            ack: () => (++cuts > 3 ? batch.ack() : Promise.reject(new Error("cut off"))),
          }),
        ),
    });
    const pipeline = await start(t, { ...ports, bus }, { maxEvents: 4 });
    await caughtUp(pipeline);
    t.true(cuts > 3);
    t.deepEqual(
      (await users(ports.store, log)).map(({ count }) => count),
      [10],
    );
  });

  test(`${name}: visits are retried while the store is busy, and written before the events of their batch`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    let busy = 3;
    const order: string[] = [];
    const store: Store = {
      ...ports.store,
      writeVisits: async (visits) => {
        if (busy-- > 0) return visits.map(() => ({ kind: "retry", reason: "busy" }));
        order.push("visits");
        return ports.store.writeVisits(visits);
      },
      writeEvents: (events, position) => {
        order.push("events");
        return ports.store.writeEvents(events, position);
      },
    };
    await append(ports, log, [encodeLine(accept(log)), encodeVisitLine(visit(log))]);
    const pipeline = await start(t, { ...ports, store });
    await caughtUp(pipeline);
    t.deepEqual(order.slice(0, 2), ["visits", "events"]);
    t.is((await users(ports.store, log)).length, 1);
    t.is(pipeline.stats().events.retried, 3);
  });

  test(`${name}: a visit that the store rejects becomes a dead letter, and counts once redriven`, async (t) => {
    const ports = await open(t);
    const log = uniqueLog();
    let rejecting = true;
    const store: Store = {
      ...ports.store,
      writeVisits: async (visits) => {
        const outcomes = await ports.store.writeVisits(visits.filter(({ user }) => !rejecting || user !== "eve"));
        const good = outcomes.values();
        return visits.map(({ user }) =>
          rejecting && user === "eve" ? { kind: "rejected", reason: "not to be had" } : good.next().value!,
        );
      },
    };
    await append(ports, log, [
      encodeVisitLine(visit(log)),
      encodeVisitLine(visit(log, { user: "eve" })),
      '{"kind":"visit","id":"0123456789abcdef01234567","created":1}',
      encodeVisitLine(visit(log, { user: "half \ud83d" })),
      encodeLine(accept(log)),
    ]);
    const pipeline = await start(t, { ...ports, store });
    await caughtUp(pipeline);
    t.deepEqual(
      (await users(ports.store, log)).map(({ user }) => user),
      ["ann", "half \ufffd"],
    );
    t.is((await rows(ports.store, log)).length, 1);
    const letters = await deadLetters(ports.bus);
    const [broken, refused] = letters.toSorted((a, b) => (a.stage < b.stage ? -1 : 1));
    t.like(broken, { stage: "decode", origin: { line: 3 }, reason: "user is not a string, or is blank" });
    t.like(refused, { stage: "track", origin: { line: 2 }, reason: "not to be had" });
    t.like(pipeline.stats(), { visits: 2, deadLetters: { decode: 1, track: 1 } });

    rejecting = false;
    await ports.bus.append("events", [deadLetterRecord([refused!])]);
    await until(async () => (await users(ports.store, log)).some(({ user }) => user === "eve"), { what: "eve" });
  });
}
