import test from "ava";

import { idAt, MORNING, newLog, write } from "../../../contract/store-fixture.ts";
import { blocksIn, eventOf, findsAll, newFile, open, randomFrom, writeSome } from "./blocks-fixture.ts";

test("events that were written without blocks are found when blocks are used again", async (t) => {
  const [file, log] = [newFile(t), newLog()];
  const events = await writeSome(t, file, log);
  t.true((await blocksIn(file)) > 0);
  const random = randomFrom(815);
  // Its id lies within a block.
  const late = { ...eventOf(log, random, MORNING), id: idAt(MORNING + 1_000_500) };
  {
    await using store = await open(file, 10, { isPlain: (trick) => trick === "blocks" });
    await findsAll(t, store, events);
    await write(t, store, [late, eventOf(log, random, MORNING + 20_000_000)]);
    await findsAll(t, store, [late]);
  }
  t.is(await blocksIn(file), 0);
  await using store = await open(file, 10);
  await findsAll(t, store, [late, ...events]);
  await store.indexed();
  await findsAll(t, store, [late, ...events]);
});
