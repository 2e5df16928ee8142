import test from "ava";
import { pino } from "pino";

import { createJob } from "../../src/operations/job.ts";

test("a repeated order returns the running one, another is refused, and after the end each starts anew", async (t) => {
  const ends: (() => void)[] = [];
  const job = createJob<{ from: number }, number>({
    name: "a replay",
    log: pino({ level: "silent" }),
    none: 0,
    run: async ({ from }) => {
      await new Promise<void>((resolve) => void ends.push(resolve));
      return from;
    },
  });
  const first = job.start({ from: 5 });
  t.is(first.state, "running");
  t.deepEqual(job.start({ from: 5 }), first);
  t.throws(() => job.start({ from: 6 }), { message: /There is already a replay running/ });
  t.is(ends.length, 1);
  const closed = job.close();
  ends[0]!();
  await closed;
  t.like(job.last(), { state: "done", progress: 5 });
});
