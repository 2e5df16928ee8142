import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import type { Bus } from "../../../src/bus/bus.ts";
import { LateAppend } from "../../../src/errors.ts";
import { openSqliteBus } from "../../../src/bus/sqlite/sqlite.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { createIdSource } from "../../../src/events/id.ts";
import { listenForGelf } from "../../../src/ingest/protocols/gelf/listen.ts";
import { createWriteCoalescer } from "../../../src/ingest/append/write-coalescer.ts";
import { eventsOn } from "../../support/events-on.ts";
import { LOG } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import { contextOf, socketFor } from "./context.ts";
import { sendStream } from "./sockets.ts";

const COUNT = 20;

test("events whose append is stored after its deadline are stored once", async (t) => {
  await using bus = await openSqliteBus({
    file: join(temporaryFolder(t), "bus.sqlite"),
    log: pino({ level: "silent" }),
  });
  let late = 0;
  const slow: Pick<Bus, "append"> = {
    append(topic, records) {
      const stored = bus.append(topic, records);
      if (late++ % 2 === 1) return stored;
      return Promise.reject(new LateAppend("late", { isStored: stored.then(() => true) }));
    },
  };
  const coalescer = createWriteCoalescer({
    bus: slow,
    ids: createIdSource(),
    quotaOwnerOf: (log) => log,
    append_ms: 60_000,
    deadline_ms: 60_000,
    maxQueuedEvents: 1_000,
    maxQueuedBytes: 1_000_000,
  });
  const { context, counts } = await contextOf(t, { coalescer });
  const listener = await listenForGelf(socketFor("tcp"), context);
  t.teardown(() => listener.close());
  for (let n = 0; n < COUNT; n++) await sendStream(listener.port, `{"short_message":"order ${n}"}\0`);
  const texts = (await eventsOn(bus)).map(({ text }) => text);
  t.deepEqual(
    texts,
    Array.from({ length: COUNT }, (_, n) => `order ${n}`),
  );
  t.is(counts.get("stored"), COUNT);
  t.true(late >= COUNT);
});

test("events with an unread time, and those that their log will not keep, are counted", async (t) => {
  const times = { unread: 0, expired: 0 };
  const { context, bus } = await contextOf(t, {
    onTimes({ unread, expired }) {
      times.unread += unread;
      times.expired += expired;
    },
  });
  const log = context.catalog.log(parseLogKey(LOG)!)!;
  const catalog = { ...context.catalog, log: () => ({ ...log, retentionDays: 30 }) };
  const listener = await listenForGelf(socketFor("tcp"), { ...context, catalog });
  t.teardown(() => listener.close());
  const stamps = [0, 1_308_491_673, Date.now() / 1_000];
  const messages = stamps.map((timestamp) => `${JSON.stringify({ short_message: "a", timestamp })}\0`);
  await sendStream(listener.port, messages.join(""));
  await until(() => bus.texts.length === stamps.length, { what: "the events" });
  t.deepEqual(times, { unread: 1, expired: 1 });
});
