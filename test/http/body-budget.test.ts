import test from "ava";

import { ClientGone, LoggiaError } from "../../src/errors.ts";
import { BodyBudget, SMALL_BODY_BYTES } from "../../src/http/body-budget.ts";
import type { BodyShare } from "../../src/http/body-budget.ts";

const MB = 1024 * 1024;

/** Waits for room and records the name once there is some. */
function record(order: string[], name: string, share: BodyShare, size_bytes: number): Promise<void> {
  return share.hold(size_bytes).then(() => void order.push(name));
}

test("an owner holds at most half, and a budget at most its size", async (t) => {
  const budget = new BodyBudget({ most_bytes: 8 * MB, wait_ms: 1 });
  const [ann, bob, cal] = [budget.enter("ann"), budget.enter("bob"), budget.enter("cal")];
  await ann.hold(4 * MB);
  const own = await t.throwsAsync(ann.hold(4 * MB + 1), { instanceOf: LoggiaError });
  t.deepEqual([own.code, own.retryAfter_s], ["too_many_requests", 1]);
  await t.throwsAsync(budget.enter("ann").hold(MB), { message: /in progress for the owner of this log/ });
  await bob.hold(4 * MB);
  const all = await t.throwsAsync(cal.hold(MB), { instanceOf: LoggiaError });
  t.deepEqual([all.code, all.retryAfter_s], ["overloaded", 1]);
  t.is(budget.held_bytes, 8 * MB);
  bob.release();
  await cal.hold(MB);
  for (const share of [ann, bob, cal]) share.release();
  t.is(budget.held_bytes, 0);
});

test("small bodies have memory of their own, and more of it where there is room", async (t) => {
  const budget = new BodyBudget({ most_bytes: 8 * MB, small_bytes: 4 * SMALL_BODY_BYTES, wait_ms: 1 });
  for (const owner of ["ann", "bob"]) await budget.enter(owner).hold(4 * MB);
  const small = [budget.enter("ann"), budget.enter("ann"), budget.enter("bob")];
  for (const share of small) t.true(share.tryHold(SMALL_BODY_BYTES));
  t.false(budget.enter("ann").tryHold(SMALL_BODY_BYTES), "half of it");
  t.false(small[0]!.tryHold(SMALL_BODY_BYTES + 1), "a body that has grown is a large one");
  const other = new BodyBudget({ most_bytes: 8 * MB, small_bytes: 0 });
  t.true(other.enter("ann").tryHold(10));
});

test("of the waiting bodies, growing ones go first, then those of the owner that holds least", async (t) => {
  const budget = new BodyBudget({ most_bytes: 8 * MB, wait_ms: 60_000 });
  const [first, second, other] = [budget.enter("ann"), budget.enter("ann"), budget.enter("bob")];
  await first.hold(2 * MB);
  await second.hold(2 * MB);
  await other.hold(4 * MB);
  const order: string[] = [];
  const waits = [
    record(order, "bob's next", budget.enter("bob"), MB),
    record(order, "cal's", budget.enter("cal"), 3 * MB),
    record(order, "ann's growing", first, 3 * MB),
  ];
  t.false(budget.enter("bob").tryHold(MB));
  second.release();
  await waits[2];
  t.deepEqual(order, ["ann's growing"], "one megabyte is left, and nobody overtakes cal, who holds nothing");
  t.true(other.tryHold(MB));
  await Promise.all(waits);
  t.deepEqual(order, ["ann's growing", "cal's", "bob's next"]);
});

test("a wait ends with its client, and when the body is given up", async (t) => {
  const budget = new BodyBudget({ most_bytes: 8 * MB, wait_ms: 60_000 });
  await budget.enter("ann").hold(4 * MB);
  const left = new AbortController();
  const gone = budget.enter("ann").hold(MB, left.signal);
  left.abort();
  await t.throwsAsync(gone, { instanceOf: ClientGone });
  const share = budget.enter("ann");
  const waiting = share.hold(MB);
  share.release();
  await t.throwsAsync(waiting, { instanceOf: ClientGone });
  t.is(budget.held_bytes, 4 * MB);
});

test("bodies that grow never wait for each other: room is kept for the oldest to reach its claim", async (t) => {
  const budget = new BodyBudget({ most_bytes: 16 * MB, wait_ms: 60_000 });
  const [old, young] = [budget.enter("ann"), budget.enter("ann")];
  for (const share of [old, young]) share.claim(6 * MB);
  await old.hold(MB);
  await young.hold(MB);
  t.true(young.tryHold(2 * MB));
  t.false(young.tryHold(3 * MB + 1), "of eight, five are left for the old one");
  for (let size_bytes = 2 * MB; size_bytes <= 6 * MB; size_bytes += MB) t.true(old.tryHold(size_bytes));
  const growing = young.hold(6 * MB);
  old.claim(0);
  t.true(old.tryHold(2 * MB));
  await growing;
  t.is(budget.held_bytes, 8 * MB);
});

test("where strangers send, the one that holds most loses its largest body to one that holds less", async (t) => {
  const budget = new BodyBudget({ most_bytes: 8 * MB, wait_ms: 0, evicts: true });
  const evicted: string[] = [];
  const enter = (owner: string, name: string): BodyShare => {
    const share = budget.enter(owner);
    share.onEvicted = ({ code }) => evicted.push(`${name} ${code}`);
    return share;
  };
  await enter("net 1", "a").hold(3 * MB);
  await enter("net 1", "b").hold(2 * MB);
  const fixed = budget.enter("net 1");
  await fixed.hold(3 * MB);
  t.false(fixed.reserves, "nothing is held because it is announced");
  const growing = enter("net 2", "c");
  await growing.hold(MB);
  t.deepEqual(evicted, ["a overloaded"], "not one that is about to be verified");
  await growing.hold(3 * MB);
  await t.throwsAsync(growing.hold(8 * MB), { message: /Too much data/ }, "the one that asks would hold most");
  await enter("net 3", "d").hold(MB);
  t.deepEqual(evicted, ["a overloaded", "b overloaded"]);
});

test("a budget that evicts waits first, if it may", async (t) => {
  const budget = new BodyBudget({ most_bytes: 2 * MB, wait_ms: 60_000, evicts: true });
  const share = budget.enter("net 1");
  share.onEvicted = () => t.fail("there was room in time");
  await share.hold(2 * MB);
  const waiting = budget.enter("net 2").hold(MB);
  share.release();
  await waiting;
  t.is(budget.held_bytes, MB);
});
