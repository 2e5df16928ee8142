import test from "ava";

import { ClientGone, LoggiaError } from "../../src/errors.ts";
import { FairTurns } from "../../src/scheduling/fair-turns.ts";

test("owners take turns, and each task runs alone", async (t) => {
  const turns = new FairTurns();
  const order: string[] = [];
  let running = 0;
  const run = (owner: string, name: string) =>
    turns.run(owner, async () => {
      t.is(++running, 1);
      await new Promise(setImmediate);
      running -= 1;
      order.push(name);
    });
  await Promise.all([run("ann", "1"), run("ann", "2"), run("ann", "3"), run("bob", "4"), run("cal", "5")]);
  t.deepEqual(order, ["1", "4", "5", "2", "3"]);
});

test("a wait ends with its client or after its time, and then the task never runs", async (t) => {
  const turns = new FairTurns();
  const first = Promise.withResolvers<void>();
  const running = turns.run("ann", () => first.promise);
  const left = new AbortController();
  const never = () => Promise.reject(new Error("it ran"));
  const gone = turns.run("bob", never, { gone: left.signal });
  left.abort();
  await t.throwsAsync(gone, { instanceOf: ClientGone });
  const late = await t.throwsAsync(turns.run("bob", never, { wait_ms: 1 }), { instanceOf: LoggiaError });
  t.deepEqual([late.code, late.retryAfter_s], ["overloaded", 2]);
  first.resolve();
  await running;
  t.is(await turns.run("bob", () => Promise.resolve("next")), "next");
});
