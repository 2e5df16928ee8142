import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import type { NewRecord } from "../../src/bus/bus.ts";
import { openSqliteBus } from "../../src/bus/sqlite.ts";
import { LoggiaError } from "../../src/errors.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { createIdSource } from "../../src/events/id.ts";
import { decodeRecord } from "../../src/events/record.ts";
import { createGatherer } from "../../src/post/gatherer.ts";
import type { Draft } from "../../src/post/draft.ts";
import { temporaryFolder } from "../support/temporary.ts";

const SHOP = parseLogKey("shop")!;
const ATTIC = parseLogKey("attic")!;
const EVENT: Draft = { text: "x", link: "", tags: [], source: "", user: "", value: null, geo: null, data: null };
const VISIT = { user: "ann", email: "", page: "" };

test("events and visits that arrive together share one append and one record of their log, with ids in the order of arrival", async (t) => {
  await using bus = await openSqliteBus({
    file: join(temporaryFolder(t), "bus.sqlite"),
    log: pino({ level: "silent" }),
  });
  const appended: (readonly NewRecord[])[] = [];
  const counting: typeof bus = Object.create(bus, {
    append: {
      value: (topic: "events", records: readonly NewRecord[]) => {
        appended.push(records);
        return bus.append(topic, records);
      },
    },
  });
  const bounds = { append_ms: 5_000, deadline_ms: 5_000, maxWaitingEvents: 5, maxWaitingBytes: 1_000_000 };
  const gatherer = createGatherer({ bus: counting, ids: createIdSource(), ...bounds });
  const ids = await Promise.all([
    gatherer.submit(SHOP, EVENT),
    gatherer.submitVisit(SHOP, VISIT),
    gatherer.submitVisit(ATTIC, VISIT),
    gatherer.submit(SHOP, { ...EVENT, text: "y" }),
  ]);
  t.deepEqual(ids, ids.toSorted());
  t.is(appended.length, 1);
  const lines = appended[0]!.map(({ value }) => decodeRecord(value));
  t.deepEqual(
    lines.map((record) => record.map(({ kind }) => kind)),
    [["event", "visit", "event"], ["visit"]],
  );
  t.like(lines[0]![1], { kind: "visit", visit: { ...VISIT, log: SHOP, id: ids[1] } });

  const posts = Array.from({ length: 6 }, (_, i) =>
    i % 2 === 0 ? gatherer.submitVisit(SHOP, VISIT) : gatherer.submit(SHOP, EVENT),
  );
  const error = await t.throwsAsync(posts[5]!, { instanceOf: LoggiaError });
  t.is(error.code, "overloaded");
  await Promise.all(posts.slice(0, 5));
  await gatherer.drain();
});

test("a log whose producers send all that may wait leaves room for others, and not for itself", async (t) => {
  await using bus = await openSqliteBus({
    file: join(temporaryFolder(t), "bus.sqlite"),
    log: pino({ level: "silent" }),
  });
  const bounds = { append_ms: 5_000, deadline_ms: 5_000, maxWaitingEvents: 100, maxWaitingBytes: 1_000_000 };
  const gatherer = createGatherer({ bus, ids: createIdSource(), ...bounds });
  const outcomes = (log: typeof SHOP, count: number) =>
    Array.from({ length: count }, () =>
      gatherer.submit(log, EVENT).then(
        () => "taken",
        ({ code }: LoggiaError) => code,
      ),
    );
  const [shop, attic] = [outcomes(SHOP, 120), outcomes(ATTIC, 10)];
  const taken = async (all: Promise<string>[]) => (await Promise.all(all)).filter((one) => one === "taken").length;
  t.is(await taken(shop), 100);
  t.is(await taken(attic), 5);
  t.deepEqual([...new Set(await Promise.all([...shop, ...attic]))], ["taken", "overloaded"]);
  // What has gone makes room again.
  t.is(await taken(outcomes(SHOP, 100)), 100);
});
