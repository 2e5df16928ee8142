import test from "ava";
import { closeSync, existsSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { FilterFile } from "../../../../src/store/duckdb/blocks/filter-file.ts";
import { TokenFilter } from "../../../../src/store/duckdb/blocks/token-filter.ts";
import { TokenList } from "../../../../src/store/duckdb/blocks/token-list.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { randomFrom } from "./blocks-fixture.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

test("filters in a file answer like those in memory, whatever their sizes", async (t) => {
  const seed = Math.trunc(Math.random() * 2 ** 31);
  t.log(`seed ${seed}`);
  const random = randomFrom(seed);
  const folder = temporaryFolder(t);
  const lists = [0, 1, 5, 200, 3_000, 3_001, 20_000].map((count) =>
    Array.from({ length: count }, () => random(2 ** 30)),
  );
  const filters = lists.map((tokens) => {
    const list = new TokenList();
    for (const token of tokens) list.add(token);
    return TokenFilter.of(list);
  });
  using file = await FilterFile.write(join(folder, "filters"), filters, new Scheduler());
  t.deepEqual(readdirSync(folder), [], "the file has no name");
  const others = Array.from({ length: 2_000 }, () => random(2 ** 30));
  for (const [place, filter] of filters.entries()) {
    const moved = file.filter(place);
    for (const token of lists[place]!) if (!moved.mayHold(token)) t.fail(`token ${token} of filter ${place}`);
    t.deepEqual(
      others.map((token) => moved.mayHold(token)),
      others.map((token) => filter.mayHold(token)),
    );
    file.release();
  }
});

test("a file left by a killed process is replaced", async (t) => {
  const path = join(temporaryFolder(t), "filters");
  writeFileSync(path, "left behind");
  const list = new TokenList();
  list.add(17);
  using file = await FilterFile.write(path, [TokenFilter.of(list)], new Scheduler());
  t.true(file.filter(0).mayHold(17));
  t.false(existsSync(path));
});

test("a file that cannot be created is an error", async (t) => {
  const filters = [TokenFilter.of(new TokenList())];
  await t.throwsAsync(FilterFile.write(join(temporaryFolder(t), "no-folder", "filters"), filters, new Scheduler()), {
    code: "ENOENT",
  });
});

test("a closed file answers nothing, not even from the next file with its descriptor", async (t) => {
  const folder = temporaryFolder(t);
  const list = new TokenList();
  list.add(17);
  const file = await FilterFile.write(join(folder, "filters"), [TokenFilter.of(list)], new Scheduler());
  const filter = file.filter(0);
  t.true(filter.mayHold(17));
  file[Symbol.dispose]();
  const path = join(folder, "other");
  writeFileSync(path, Buffer.alloc(100_000));
  const other = openSync(path, "r");
  t.teardown(() => closeSync(other));
  t.throws(() => filter.mayHold(17), { message: "A file of filters is closed" });
  file.release();
  t.throws(() => filter.mayHold(17), { message: "A file of filters is closed" });
});
