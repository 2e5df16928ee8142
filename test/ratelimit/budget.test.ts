import test from "ava";

import { ClientGone, LoggiaError } from "../../src/errors.ts";
import { Budget } from "../../src/ratelimit/budget.ts";

const OPTIONS = {
  perCaller: 2,
  total: 3,
  waitingPerCaller: 4,
  waitingTotal: 6,
  wait_ms: 60_000,
  perCallerMessage: "You have 2 queries running",
  totalMessage: "Too many queries are running",
};

/** Work that ends when the test says so. */
function starter(budget: Budget) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (caller: string, name: string): Promise<string> =>
    budget.run(caller, async () => {
      started.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  return { started, start, end: (name: string) => ends.get(name)!() };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("one caller gets its share, and others pass its waiting requests", async (t) => {
  const budget = new Budget(OPTIONS);
  const { started, start, end } = starter(budget);
  const all = [start("ann", "a1"), start("ann", "a2"), start("ann", "a3"), start("bob", "b1"), start("bob", "b2")];
  await turn();
  t.deepEqual(started, ["a1", "a2", "b1"]);
  t.deepEqual([budget.running, budget.waiting], [3, 2]);
  end("b1");
  await turn();
  t.deepEqual(started, ["a1", "a2", "b1", "b2"], "ann waits for ann");
  end("a1");
  await turn();
  t.deepEqual(started, ["a1", "a2", "b1", "b2", "a3"]);
  for (const name of ["a2", "a3", "b2"]) end(name);
  t.deepEqual(await Promise.all(all), ["a1", "a2", "a3", "b1", "b2"]);
  t.deepEqual([budget.running, budget.waiting], [0, 0]);
});

test("an error after waiting too long says whose work was in the way", async (t) => {
  const budget = new Budget({ ...OPTIONS, wait_ms: 5 });
  const { start, end } = starter(budget);
  const running = [start("ann", "a1"), start("ann", "a2"), start("bob", "b1")];
  const own = await t.throwsAsync(start("ann", "a3"), { instanceOf: LoggiaError });
  t.deepEqual([own.code, own.retryAfter_s], ["too_many_requests", 1]);
  const everybodys = await t.throwsAsync(start("cleo", "c1"), { instanceOf: LoggiaError });
  t.deepEqual([everybodys.code, everybodys.retryAfter_s], ["overloaded", 1]);
  for (const name of ["a1", "a2", "b1"]) end(name);
  await Promise.all(running);
  const later = start("cleo", "c2");
  await turn();
  end("c2");
  t.is(await later, "c2");
});

test("the number of waiting requests is limited", async (t) => {
  const budget = new Budget(OPTIONS);
  const { start, started, end } = starter(budget);
  const ann = ["a1", "a2", "a3", "a4", "a5", "a6"].map((name) => start("ann", name));
  await t.throwsAsync(start("ann", "a7"), { message: /You have 2 queries running/ });
  const bob = ["b1", "b2", "b3"].map((name) => start("bob", name));
  await t.throwsAsync(start("cleo", "c1"), { message: /Too many queries are running/ });
  for (let i = 0; i < 9; i++) {
    await turn();
    end(started[i]!);
  }
  await Promise.all([...ann, ...bob]);
  t.pass();
});

test("failed work releases its share, and its caller gets the error", async (t) => {
  const budget = new Budget({ ...OPTIONS, perCaller: 1 });
  const failing = () => budget.run("ann", () => Promise.reject(new Error("no")));
  for (const outcome of await Promise.allSettled([failing(), failing(), failing()])) {
    t.is(outcome.status === "rejected" && outcome.reason.message, "no");
  }
  t.is(budget.running, 0);
});

/** Bytes of responses: ann and bob may have 50 each, and 80 together. */
const BYTES = { ...OPTIONS, perCaller: 50, total: 80 };

test("amounts are limited per caller and in total, and small ones do not overtake a large one", async (t) => {
  const budget = new Budget(BYTES);
  const ann = await budget.take("ann", 50);
  const bob = await budget.take("bob", 30);
  const order: string[] = [];
  const waiting = [
    budget.take("ann", 1).then((taken) => (order.push("ann"), taken)),
    budget.take("cleo", 39).then((taken) => (order.push("cleo"), taken)),
    budget.take("dan", 1).then((taken) => (order.push("dan"), taken)),
  ];
  bob.resize(5);
  await turn();
  t.deepEqual([order, budget.running], [[], 55], "dan waits behind cleo, who needs more than there is");
  bob.release();
  bob.release();
  ann.resize(40);
  await turn();
  t.deepEqual([order, budget.running], [["ann", "cleo"], 80]);
  ann.release();
  await turn();
  t.deepEqual(order, ["ann", "cleo", "dan"]);
  for (const taken of await Promise.all(waiting)) taken.release();
  t.deepEqual([budget.running, budget.waiting], [0, 0]);
});

test("work that grows beyond the limit is refused, and a single one always fits", async (t) => {
  let refused = 0;
  const budget = new Budget({ ...BYTES, refused: () => void (refused += 1) });
  const ann = await budget.take("ann", 10_000);
  t.is(budget.running, 50);
  ann.resize(20);
  const second = await budget.take("ann", 20);
  t.is(t.throws(() => second.resize(31), { instanceOf: LoggiaError }).code, "too_many_requests");
  const bob = await budget.take("bob", 40);
  t.is(t.throws(() => bob.resize(41), { instanceOf: LoggiaError }).code, "overloaded");
  t.deepEqual([budget.running, refused], [80, 1], "a refusal changes nothing");
  for (const taken of [ann, second, bob]) taken.release();
  second.resize(50);
  t.is(budget.running, 0, "what was released takes nothing again");
});

test("a disconnected client stops waiting and delays nobody", async (t) => {
  const budget = new Budget(OPTIONS);
  const { started, start, end } = starter(budget);
  const all = [start("ann", "a1"), start("ann", "a2")];
  const leaving = new AbortController();
  const left = budget.run("ann", () => Promise.resolve("never"), leaving.signal);
  const next = start("ann", "a3");
  await turn();
  leaving.abort();
  await t.throwsAsync(left, { instanceOf: ClientGone });
  t.deepEqual([budget.running, budget.waiting], [2, 1]);
  end("a1");
  await turn();
  t.deepEqual(started, ["a1", "a2", "a3"]);
  for (const name of ["a2", "a3"]) end(name);
  await Promise.all([...all, next]);
  t.deepEqual([budget.running, budget.waiting], [0, 0]);
});
