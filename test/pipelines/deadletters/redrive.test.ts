import test, { type ExecutionContext } from "ava";
import { randomBytes } from "node:crypto";

import { createDeadLetters } from "../../../pipelines/deadletters/redrive.ts";
import type { Bus } from "../../../src/bus/bus.ts";
import { decodeRecord, encodeLine, encodeRecord } from "../../../src/events/record.ts";
import type { DeadLetterSummary } from "../../../src/operations/operations.ts";
import { accept, caughtUp, deletionsOn, makeLog, post, rows, start, uniqueLog } from "../house.ts";
import type { House } from "../house.ts";
import { PLACES } from "../places.ts";

const ALL = { after: null, limit: 100, state: "all" } as const;
const OPEN = { after: null, limit: 100, state: "open" } as const;

/** Runs a pipeline until it has caught up, and closes it. */
async function drain(t: ExecutionContext, house: House): Promise<void> {
  const pipeline = await start(t, house);
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

for (const { name, open } of PLACES) {
  test(`${name}: a rejected event is listed, redriven, and then marked`, async (t) => {
    const house = await open(t);
    const { log } = await makeLog(house.catalog);
    const [good, bad] = [accept(log, { text: "good" }), accept(log, { text: "bad" })];
    await post(house.bus, [good, bad]);
    const refusing: House = {
      ...house,
      store: {
        ...house.store,
        writeEvents: async (events, position) => {
          const ids = events.ids();
          if (!ids.includes(bad.id)) return house.store.writeEvents(events, position);
          return ids.map(() => ({ kind: "rejected", reason: "it is not to my taste" }));
        },
      },
    };
    await drain(t, refusing);
    const letters = createDeadLetters({ ...house, deletions: deletionsOn(house.bus) });
    const page = await letters.list(OPEN);
    const letter = page.letters.find(({ content }) => content.includes('"bad"'));
    t.deepEqual([page.open, page.total, page.next], [2, 2, null]);
    t.like(letter, { stage: "index", reason: "it is not to my taste", key: log, redriven: null });
    t.is(letter!.origin.topic, "events");
    t.is(letter!.origin.line, 2);

    t.deepEqual(await letters.redrive([letter!.id, "999999"]), { redriven: 1, missing: ["999999"] });
    await drain(t, house);
    t.deepEqual(
      (await rows(house.store, log)).map(({ id }) => id),
      [bad.id],
    );
    const after = await letters.list(OPEN);
    t.deepEqual([after.letters.length, after.open, after.total], [1, 1, 2]);
    t.truthy((await letters.list(ALL)).letters.find(({ id }) => id === letter!.id)?.redriven);

    t.deepEqual(await letters.redrive("all"), { redriven: 1, missing: [] });
    t.deepEqual(await letters.redrive("all"), { redriven: 0, missing: [] });
    t.deepEqual(await letters.redrive([letter!.id]), { redriven: 1, missing: [] }, "asked for by name, once more");
    await drain(t, house);
    t.deepEqual(
      (await rows(house.store, log)).map(({ id }) => id),
      [good.id, bad.id],
    );
    t.deepEqual((await letters.list(ALL)).total, 2, "nothing was refused anew");
  });

  test(`${name}: a redriven dead letter is followed by the deletion of its event`, async (t) => {
    const house = await open(t);
    const { log } = await makeLog(house.catalog);
    const event = accept(log);
    await post(house.bus, [event]);
    const refusing: House = {
      ...house,
      store: {
        ...house.store,
        writeEvents: async (events, position) =>
          events.length === 0
            ? house.store.writeEvents(events, position)
            : events.ids().map(() => ({ kind: "rejected", reason: "it is not to my taste" })),
      },
    };
    await drain(t, refusing);
    const deletion = { log, event: event.id, alertOf: null };
    await house.store.writeDeletions([deletion]);
    const letters = createDeadLetters({ ...house, deletions: deletionsOn(house.bus) });
    await letters.redrive("all");
    const values = await valuesOfEvents(house.bus);
    t.deepEqual(values.map((value) => decodeRecord(value).map(({ kind }) => kind)).slice(1), [["event"], ["deletion"]]);
    t.like(decodeRecord(values.at(-1)!)[0], { deletion });
  });

  test(`${name}: dead letters are listed page by page, in order, each once`, async (t) => {
    const house = await open(t);
    await breakLines(house.bus, 25);
    await drain(t, house);
    const letters = createDeadLetters({ ...house, deletions: deletionsOn(house.bus) });
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
    const house = await open(t);
    const large = randomBytes(700 * 1024);
    await house.bus.append("events", [{ key: "large", value: large }]);
    await drain(t, house);
    const letters = createDeadLetters({ ...house, deletions: deletionsOn(house.bus) });
    const page = await letters.list(ALL);
    t.deepEqual([page.letters.length, page.total], [1, 1]);
    t.deepEqual(await letters.redrive("all"), { redriven: 1, missing: [] });
    const values = await valuesOfEvents(house.bus);
    t.is(values.length, 2);
    t.true(values[1]!.equals(large));
  });
}

test("without dead letters there is nothing to list or redrive", async (t) => {
  const house = await PLACES[0]!.open(t);
  const letters = createDeadLetters({ ...house, deletions: deletionsOn(house.bus) });
  t.deepEqual(await letters.list(OPEN), { letters: [], next: null, open: 0, total: 0 });
  t.deepEqual(await letters.redrive("all"), { redriven: 0, missing: [] });
  t.deepEqual(await letters.redrive(["x", "0-7"]), { redriven: 0, missing: ["x", "7"] });
  const { log } = await makeLog(house.catalog);
  const event = accept(log);
  await house.bus.append("events", [{ key: log, value: encodeRecord(log, [encodeLine(event)]) }]);
  t.is((await valuesOfEvents(house.bus)).length, 1);
});
