import test from "ava";

import { handleInTurn } from "../../../src/http/limits/long-heads.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

test("requests with long targets or headers are each handled in a turn of their own, others at once", async (t) => {
  const scheduler = new Scheduler();
  let turn = 0;
  const handled: number[] = [];
  const note = (): void => void handled.push(turn);
  const long = "x".repeat(60_000);
  for (let i = 0; i < 10; i++) {
    handleInTurn({ url: `/?${long}`, rawHeaders: [] }, scheduler, note);
    handleInTurn({ url: "/", rawHeaders: ["Cookie", long] }, scheduler, note);
  }
  handleInTurn({ url: "/", rawHeaders: ["Host", "a"] }, scheduler, note);
  t.deepEqual(handled, [0]);
  while (handled.length < 21) {
    turn += 1;
    await new Promise(setImmediate);
  }
  t.is(new Set(handled.slice(1)).size, 20);
});
