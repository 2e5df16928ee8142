import test from "ava";
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";

import { FilterMemory } from "../../../../src/store/duckdb/blocks/filter-memory.ts";
import type { FilteredBlock } from "../../../../src/store/duckdb/blocks/filter-memory.ts";
import { TokenFilter } from "../../../../src/store/duckdb/blocks/token-filter.ts";
import { TokenList } from "../../../../src/store/duckdb/blocks/token-list.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

const TOKENS = 1_000;

/** Returns blocks, each with the tokens of its number times 10,000 and the following ones. */
function blocksOf(count: number): FilteredBlock[] {
  return Array.from({ length: count }, (_, n) => {
    const list = new TokenList();
    for (let i = 0; i < TOKENS; i++) list.add(n * 10_000 + i);
    return { first: BigInt(n * 10), last: BigInt(n * 10 + 9), filter: TokenFilter.of(list) };
  });
}

const inMemory = ({ filter }: FilteredBlock): boolean => filter instanceof TokenFilter;

/** Returns the open files of this process below a folder, also those without a name. */
function openBelow(folder: string): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(join("/proc/self/fd", fd));
      return target.startsWith(folder) ? [target] : [];
    } catch {
      // It was the descriptor of this very listing.
      return [];
    }
  });
}

test("the oldest filters beyond the limit move to a file and answer from there", async (t) => {
  const blocks = blocksOf(20);
  const size = (blocks[0]!.filter as TokenFilter).size;
  const memory = new FilterMemory({
    limit_bytes: 8.5 * size,
    path: join(temporaryFolder(t), "filters"),
    scheduler: new Scheduler(),
    log: pino({ level: "silent" }),
  });
  await using _ = memory;
  await memory.fit(() => blocks);
  const kept = blocks.filter(inMemory).length;
  t.true(kept >= 6 && kept <= 8, `${kept} are in memory`);
  t.true(blocks.slice(-kept).every(inMemory), "the newest");
  for (const [n, { filter }] of blocks.entries()) {
    t.true(filter!.mayHold(n * 10_000 + 17));
    const wrong = Array.from({ length: 1_000 }, (_, i) => filter!.mayHold(500_000_000 + i * 7)).filter(Boolean).length;
    t.true(wrong < 300, `${wrong} of 1,000 other tokens`);
  }
  memory.release();
});

test("adding a filter does not look at all of them, so that a start with many is fast", async (t) => {
  const all = blocksOf(64);
  const size = (all[0]!.filter as TokenFilter).size;
  const blocks: FilteredBlock[] = [];
  let looks = 0;
  const present = () => ((looks += 1), blocks);
  await using memory = new FilterMemory({
    limit_bytes: 32.5 * size,
    path: join(temporaryFolder(t), "filters"),
    scheduler: new Scheduler(),
    log: pino({ level: "silent" }),
  });
  for (const block of all) {
    blocks.push(block);
    await memory.fit(present, (block.filter as TokenFilter).size);
    t.true(blocks.filter(inMemory).length <= 32);
  }
  t.true(blocks.filter(inMemory).length >= 24);
  t.true(looks <= 30, `${looks} looks`);
});

(process.platform === "linux" ? test : test.skip)("a file is closed once none of its blocks is left", async (t) => {
  const folder = temporaryFolder(t);
  const blocks = blocksOf(10);
  const memory = new FilterMemory({
    limit_bytes: 0,
    path: join(folder, "filters"),
    scheduler: new Scheduler(),
    log: pino({ level: "silent" }),
  });
  await memory.fit(() => blocks.slice(0, 5));
  await memory.fit(() => blocks);
  t.is(openBelow(folder).length, 2);
  memory.closeUnused(blocks.slice(4));
  t.is(openBelow(folder).length, 2);
  memory.closeUnused(blocks.slice(5));
  t.is(openBelow(folder).length, 1);
  t.true(blocks[7]!.filter!.mayHold(70_017));
  await memory[Symbol.asyncDispose]();
  t.deepEqual(openBelow(folder), []);
});

(process.platform === "linux" ? test : test.skip)(
  "a file whose blocks went while it was written is closed, and its space freed",
  async (t) => {
    const folder = temporaryFolder(t);
    let blocks = blocksOf(5);
    await using memory = new FilterMemory({
      limit_bytes: 0,
      path: join(folder, "filters"),
      scheduler: new Scheduler(),
      log: pino({ level: "silent" }),
    });
    const moving = memory.fit(() => blocks);
    blocks = [];
    memory.closeUnused(blocks);
    await moving;
    t.deepEqual(openBelow(folder), []);
  },
);

test("if no file can be made, the log says so and the blocks are scanned", async (t) => {
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const blocks = blocksOf(3);
  const path = join(temporaryFolder(t), "no-folder", "filters");
  await using memory = new FilterMemory({ limit_bytes: 0, path, scheduler: new Scheduler(), log });
  await memory.fit(() => blocks);
  t.deepEqual(
    blocks.map(({ filter }) => filter),
    [null, null, null],
  );
  t.regex(lines.join(""), /do not fit into memory and cannot be written to a file; until the next start/);
});
