import test, { type ExecutionContext } from "ava";
import { randomBytes } from "node:crypto";

import { createDeadLetters } from "../../../pipelines/deadletters/redrive.ts";
import type { Bus } from "../../../src/bus/bus.ts";
import { decodeRecord, encodeLine, encodeRecord } from "../../../src/events/record.ts";
import type { DeadLetterSummary } from "../../../src/operations/operations.ts";
import { accept, caughtUp, deletionsOn, makeLog, post, rows, start, uniqueLog } from "../fixture.ts";
import type { Ports } from "../fixture.ts";
import { ENGINE_KINDS } from "../engine-kinds.ts";

const ALL = { after: null, limit: 100, state: "all" } as const;
const OPEN = { after: null, limit: 100, state: "open" } as const;

/** Runs a pipeline until it has caught up, and closes it. */
async function drain(t: ExecutionContext, ports: Ports): Promise<void> {
  const pipeline = await start(t, ports);
  await caughtUp(pipeline);
  await pipeline.close(1_000);
}

async function breakLines(bus: Bus, count: number): Promise<void> {
  const log = uniqueLog();
  const lines = Array.from({ length: count }, (_, i) => `oops ${i}`);
  await bus.append("events", [{ key: log, value: encodeRecord(log, lines) }]);
}

async function valuesOfEvents(bus: Bus): Promise<Buffer[]> {
  const values: Buffer[] = [];
  for await (const batch of bus.read({ topic: "events", maxRecords: 100, maxBytes: 1e7 }))
    values.push(...batch.map(({ value }) => value));
  return values;
}

for (const { name, open } of ENGINE_KINDS) {
  test(`${name}: a rejected event is listed, redriven, and then marked`, async (t) => {
    const ports = await open(t);
    const { log } = await makeLog(ports.catalog);
    const [good, bad] = [accept(log, { text: "good" }), accept(log, { text: "bad" })];
    await post(ports.bus, [good, bad]);
    const refusing: Ports = {
      ...ports,
      store: {
        ...ports.store,
        writeEvents: async (events, position) => {
          const ids = events.ids();
          if (!ids.includes(bad.id)) return ports.store.writeEvents(events, position);
          return ids.map(() => ({ kind: "rejected", reason: "it is not to my taste" }));
        },
      },
    };
    await drain(t, refusing);
    const letters = createDeadLetters({ ...ports, deletions: deletionsOn(ports.bus) });
    const page = await letters.list(OPEN);
    const letter = page.letters.find(({ content }) => content.includes('"bad"'));
    t.deepEqual([page.open, page.total, page.next], [2, 2, null]);
    t.like(letter, { stage: "index", reason: "it is not to my taste", key: log, redriven: null });
    t.is(letter!.origin.topic, "events");
    t.is(letter!.origin.line, 2);

    t.deepEqual(await letters.redrive([letter!.id, "999999"]), { redriven: 1, missing: ["999999"] });
    await drain(t, ports);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      [bad.id],
    );
    const after = await letters.list(OPEN);
    t.deepEqual([after.letters.length, after.open, after.total], [1, 1, 2]);
    t.truthy((await letters.list(ALL)).letters.find(({ id }) => id === letter!.id)?.redriven);

    t.deepEqual(await letters.redrive("all"), { redriven: 1, missing: [] });
    t.deepEqual(await letters.redrive("all"), { redriven: 0, missing: [] });
    t.deepEqual(await letters.redrive([letter!.id]), { redriven: 1, missing: [] }, "asked for by name, once more");
    await drain(t, ports);
    t.deepEqual(
      (await rows(ports.store, log)).map(({ id }) => id),
      [good.id, bad.id],
    );
    t.deepEqual((await letters.list(ALL)).total, 2, "nothing was refused anew");
  });

  test(`${name}: a redriven dead letter is followed by the deletion of its event`, async (t) => {
    const ports = await open(t);
    const { log } = await makeLog(ports.catalog);
    const event = accept(log);
    await post(ports.bus, [event]);
    const refusing: Ports = {
      ...ports,
      store: {
        ...ports.store,
        writeEvents: async (events, position) =>
          events.length === 0
            ? ports.store.writeEvents(events, position)
            : events.ids().map(() => ({ kind: "rejected", reason: "it is not to my taste" })),
      },
    };
    await drain(t, refusing);
    const deletion = { log, event: event.id, alertOf: null };
    await ports.store.writeDeletions([deletion]);
    const letters = createDeadLetters({ ...ports, deletions: deletionsOn(ports.bus) });
    await letters.redrive("all");
    const values = await valuesOfEvents(ports.bus);
    t.deepEqual(values.map((value) => decodeRecord(value).map(({ kind }) => kind)).slice(1), [["event"], ["deletion"]]);
    t.like(decodeRecord(values.at(-1)!)[0], { deletion });
  });

  test(`${name}: dead letters are listed page by page, in order, each once`, async (t) => {
    const ports = await open(t);
    await breakLines(ports.bus, 25);
    await drain(t, ports);
    const letters = createDeadLetters({ ...ports, deletions: deletionsOn(ports.bus) });
    const found: DeadLetterSummary[] = [];
    let pages = 0;
    for (let after: string | null = null; pages === 0 || after !== null; pages++) {
      const page = await letters.list({ ...OPEN, after, limit: 10 });
      found.push(...page.letters);
      after = page.next;
    }
    t.is(pages, 3);
    t.deepEqual(
      found.map(({ content }) => content.split("\n")[1]),
      Array.from({ length: 25 }, (_, i) => `oops ${i}`),
    );
    t.is(new Set(found.map(({ id }) => id)).size, 25);
    t.true(found.every(({ content }) => content.length <= 200));
    await letters.redrive(found.slice(0, 24).map(({ id }) => id));
    const left = await letters.list({ ...OPEN, limit: 10 });
    t.deepEqual(
      left.letters.map(({ id }) => id),
      [found[24]!.id],
    );
  });

  test(`${name}: content split over several dead letters is redriven unchanged`, async (t) => {
    const ports = await open(t);
    const large = randomBytes(700 * 1024);
    await ports.bus.append("events", [{ key: "large", value: large }]);
    await drain(t, ports);
    const letters = createDeadLetters({ ...ports, deletions: deletionsOn(ports.bus) });
    const page = await letters.list(ALL);
    t.deepEqual([page.letters.length, page.total], [1, 1]);
    t.deepEqual(await letters.redrive("all"), { redriven: 1, missing: [] });
    const values = await valuesOfEvents(ports.bus);
    t.is(values.length, 2);
    t.true(values[1]!.equals(large));
  });
}

test("without dead letters there is nothing to list or redrive", async (t) => {
  const ports = await ENGINE_KINDS[0]!.open(t);
  const letters = createDeadLetters({ ...ports, deletions: deletionsOn(ports.bus) });
  t.deepEqual(await letters.list(OPEN), { letters: [], next: null, open: 0, total: 0 });
  t.deepEqual(await letters.redrive("all"), { redriven: 0, missing: [] });
  t.deepEqual(await letters.redrive(["x", "0-7"]), { redriven: 0, missing: ["x", "7"] });
  const { log } = await makeLog(ports.catalog);
  const event = accept(log);
  await ports.bus.append("events", [{ key: log, value: encodeRecord(log, [encodeLine(event)]) }]);
  t.is((await valuesOfEvents(ports.bus)).length, 1);
});
