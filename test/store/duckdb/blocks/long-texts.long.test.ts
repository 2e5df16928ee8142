import test from "ava";

import { event, idAt, listPlan, MORNING, newLog, row, write } from "../../../contract/store-fixture.ts";
import { blocksIn, contains, newFile, NO_BLOCKS, open, randomFrom, runIn } from "./blocks-fixture.ts";

test("long texts make a block of fewer rows, when written and when indexed later", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const random = randomFrom(11);
  const textOf = (): string =>
    Array.from({ length: 700 }, () =>
      random(2 ** 30)
        .toString(36)
        .padStart(6, "x"),
    ).join(" ");
  const events = Array.from({ length: 4_000 }, (_, i) =>
    event(log, { id: idAt(MORNING + i), created: MORNING + i, text: textOf() }),
  );
  {
    await using store = await open(file, NO_BLOCKS);
    for (let from = 0; from < events.length; from += 500) await write(t, store, events.slice(from, from + 500));
  }
  const written = await blocksIn(file);
  t.true(written >= 3, `${written} blocks`);
  await runIn(file, "delete from token_blocks");
  {
    await using store = await open(file, 8_192);
    await store.indexed();
    const wanted = events[3_000]!;
    const { rows } = await store.list(listPlan(log, { where: contains(wanted.text.slice(40, 80)) }));
    t.deepEqual(rows, [row(wanted)]);
  }
  t.true((await blocksIn(file)) >= 2);
});
