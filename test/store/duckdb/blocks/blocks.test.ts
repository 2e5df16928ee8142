import test from "ava";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

import { killAfterExit } from "../../../../infra/engines/guard.ts";
import type { StoredEvent } from "../../../../src/events/event.ts";
import { TokenFilter } from "../../../../src/store/duckdb/blocks/token-filter.ts";
import { TokenList } from "../../../../src/store/duckdb/blocks/token-list.ts";
import { event, idAt, listPlan, MORNING, newLog, row, write } from "../../../contract/store-fixture.ts";
import { writeEvents } from "../../../support/write-events.ts";
import {
  answer,
  blocksIn,
  contains,
  eventOf,
  findsAll,
  newFile,
  NO_BLOCKS,
  open,
  questionsOf,
  randomFrom,
  ROUNDS,
  runIn,
  setFilters,
  STEPS,
  writeSome,
} from "./blocks-fixture.ts";

const CHILD = resolve(import.meta.dirname, "../child.ts");

for (let round = 1; round <= ROUNDS; round++) {
  test(`a store with blocks answers like one without, after any writes, deletions and expiry (${round} of ${ROUNDS})`, async (t) => {
    const seed = Math.trunc(Math.random() * 2 ** 31);
    t.log(`seed ${seed}`);
    const random = randomFrom(seed);
    const files = [newFile(t), newFile(t)] as const;
    const openBoth = () =>
      Promise.all([
        open(files[0], 3 + random(20), {
          tableBlocks: 1 + random(4),
          // All filters in memory, some, or none.
          filterLimit_mb: [1, 0.002, 0][random(3)]!,
        }),
        open(files[1], NO_BLOCKS),
      ]);
    const log = newLog();
    const events: StoredEvent[] = [];
    let stores = await openBoth();
    let now = MORNING;
    const steps: Record<string, () => Promise<unknown>> = {
      async append() {
        const batch = Array.from({ length: 1 + random(30) }, () =>
          eventOf(log, random, (now += 1 + random(10_000_000))),
        );
        events.push(...batch);
        for (const store of stores) await write(t, store, batch);
      },
      async comeLate() {
        const batch = Array.from({ length: 1 + random(5) }, () =>
          eventOf(log, random, MORNING + random(now - MORNING + 1)),
        );
        events.push(...batch);
        for (const store of stores) await write(t, store, batch);
      },
      async writeAgain() {
        const batch = events.slice(random(events.length)).slice(0, 1 + random(30));
        for (const store of stores) await write(t, store, batch);
      },
      async remove() {
        const { id } = events[random(events.length)]!;
        for (const store of stores) await store.deleteEvent(log, id);
      },
      async expire() {
        const before = MORNING + random(Math.ceil((now - MORNING) / 3) + 1);
        for (const store of stores)
          await store.deleteExpired({ before: new Map([[log, before]]), markersBefore: null });
      },
      index: () => Promise.all(stores.map((store) => store.indexed())),
      async reopen() {
        for (const store of stores) await store[Symbol.asyncDispose]();
        stores = await openBoth();
      },
    };
    const kinds = ["append", "append", "append", "comeLate", "writeAgain", "remove", "expire", "index", "reopen"];
    for (let step = 0; step < STEPS; step++) {
      const name = step < 3 ? "append" : kinds[random(kinds.length)]!;
      await steps[name]!();
      const late = name === "comeLate" ? questionsOf(events.at(-1)!) : [];
      const usual = questionsOf(events[random(events.length)]!).filter(() => random(2) === 0);
      for (const where of [...late, ...usual]) {
        const [ours, plain] = await Promise.all(stores.map((store) => answer(store, log, where)));
        t.deepEqual(ours, plain, `${name}, step ${step}: ${JSON.stringify(where)}`);
      }
    }
    for (const store of stores) await store[Symbol.asyncDispose]();
  });
}

test("a block whose filter excludes a word is not scanned", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log);
  t.is(await blocksIn(file), 12);
  await setFilters(file, TokenFilter.of(new TokenList()).encode());
  await using store = await open(file, 10);
  t.is((await store.list(listPlan(log))).total, events.length);
  t.is((await store.list(listPlan(log, { where: contains(events[50]!.text) }))).total, 0);
  t.is(
    (await store.list(listPlan(log, { where: contains("ended") }))).total,
    events.length,
    "it is too short to be asked for",
  );
});

const DAMAGES: Record<string, (file: string) => Promise<unknown>> = {
  "are damaged": async (file) => {
    const encoded = TokenFilter.of(new TokenList()).encode();
    encoded[encoded.length - 1]! ^= 1;
    await setFilters(file, encoded);
  },
  "are cut": (file) => setFilters(file, TokenFilter.of(new TokenList()).encode().subarray(0, 7)),
  "are missing in part": (file) => runIn(file, "delete from token_blocks where rowid % 3 = 1"),
  "are of a table of another shape": (file) => runIn(file, "alter table token_blocks drop column filter"),
};

for (const [what, damage] of Object.entries(DAMAGES)) {
  test(`if filters ${what}, every event is found and they are rebuilt`, async (t) => {
    const [file, log] = [newFile(t), newLog()];
    const events = await writeSome(t, file, log);
    await damage(file);
    {
      await using store = await open(file, 10);
      await findsAll(t, store, events.slice(0, 20));
      await store.indexed();
      await findsAll(t, store, events);
    }
    t.is(await blocksIn(file), 12);
    await setFilters(file, TokenFilter.of(new TokenList()).encode());
    await using store = await open(file, 10);
    t.is((await store.list(listPlan(log, { where: contains(events[50]!.text) }))).total, 0, "they are asked");
  });
}

test("late events in a block are found at once, and the block is rebuilt", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log);
  const late = event(log, { id: idAt(MORNING + 5_500_000), text: "request=verylate-1 of customer" });
  {
    await using store = await open(file, 10);
    await write(t, store, [late]);
    await findsAll(t, store, [late, ...events.slice(40, 80)]);
    await store.indexed();
    await findsAll(t, store, [late, ...events.slice(40, 80)]);
  }
  t.true((await blocksIn(file)) >= 12);
  await using store = await open(file, 10);
  await findsAll(t, store, [late, ...events.slice(40, 80)]);
});

test("queries run while late events arrive, and find all events written before", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log);
  await using store = await open(file, 10);
  const asking = new AbortController();
  let came = 0;
  const coming = (async () => {
    for (; !asking.signal.aborted; came++) {
      const id = idAt(MORNING + 5_500_000);
      await write(t, store, [event(log, { id, text: `request=late-${came}-later of customer` })]);
    }
  })();
  const isEnough = (): boolean => came > 3;
  for (let asked = 0; asked < 30 || !isEnough(); asked++) {
    const last = came - 1;
    const { rows } = await store.list(listPlan(log, { where: contains(`request=late-${last}-later`) }));
    t.is(rows.length, last < 0 ? 0 : 1);
    const early = events[asked % events.length]!;
    const [request = ""] = early.text.split(" ");
    t.deepEqual((await store.list(listPlan(log, { where: contains(request) }))).rows, [row(early)]);
  }
  asking.abort();
  await coming;
  t.true(isEnough(), `${came} came`);
});

test("blocks that retention has emptied are merged into one", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log);
  {
    await using store = await open(file, 10);
    await store.deleteExpired({ before: new Map([[log, MORNING + 9_900_000]]), markersBefore: null });
    await findsAll(t, store, events.slice(100));
    t.is((await store.list(listPlan(log, { where: contains(events[3]!.text) }))).total, 0);
    // An expired event is written again.
    await write(t, store, events.slice(0, 1));
    await findsAll(t, store, events.slice(0, 1));
  }
  t.true((await blocksIn(file)) <= 4, `${await blocksIn(file)}`);
});

test("a copy of a store that is being written to finds its events", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const copy = newFile(t);
  const events = await writeSome(t, file, log);
  {
    await using store = await open(file, 10);
    await store.copyTo(copy);
    await write(t, store, [eventOf(log, randomFrom(3), MORNING + 90_000_000)]);
  }
  await using store = await open(copy, 10);
  await findsAll(t, store, events.slice(30, 60));
});

test("an event that cannot be stored hides none of its batch", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  await using store = await open(file, 4);
  const random = randomFrom(12);
  const events = Array.from({ length: 9 }, (_, i) => eventOf(log, random, MORNING + i * 1_000));
  const outcomes = await writeEvents(store, events.with(4, { ...events[4]!, created: 2 ** 70 }));
  t.is(outcomes.filter(({ kind }) => kind === "done").length, 8);
  await write(t, store, events);
  await findsAll(t, store, events);
});

test("filters of a killed process hide no event", async (t) => {
  const file = newFile(t);
  const log = newLog();
  for (let life = 0; life < 4; life++) {
    const child = spawn(process.execPath, [CHILD, file, log, "700"], { stdio: ["ignore", "pipe", "inherit"] });
    killAfterExit(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    for (let line = 0; line < 4 + life; line++) await lines.next();
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    await using store = await open(file, 700);
    for (const isIndexed of [false, true]) {
      if (isIndexed) await store.indexed();
      const { total } = await store.list(listPlan(log, { take: 0 }));
      for (let at = 7; at < total; at += Math.ceil(total / 40)) {
        const [found] = await store.rows(
          listPlan(log, { sort: [{ field: "id", direction: "asc" }], skip: at, take: 1 }),
        );
        const where = contains(found!.text);
        t.deepEqual((await store.list(listPlan(log, { where }))).rows, [found]);
      }
    }
  }
});
