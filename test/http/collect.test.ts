import test from "ava";
import { PassThrough } from "node:stream";

import { LoggiaError } from "../../src/errors.ts";
import { BodyBudget } from "../../src/http/body-budget.ts";
import { collect } from "../../src/http/collect.ts";
import { until } from "../support/until.ts";

const KB = 1024;
const ERRORS = {
  tooLarge: () => new LoggiaError("body_too_large", "too large"),
  broken: () => new LoggiaError("bad_body", "broken"),
};

test("a body counts as it arrives, in one buffer however small its pieces are, and waits for room", async (t) => {
  const budget = new BodyBudget({ most_bytes: 512 * KB, small_bytes: 0, wait_ms: 60_000 });
  const other = budget.enter("ann");
  await other.hold(200 * KB);
  const source = new PassThrough();
  const share = budget.enter("ann");
  const body = collect(source, { ...ERRORS, limit_bytes: 100 * KB, share });
  for (let n = 0; n < 10_000; n++) source.write("x");
  await until(() => Promise.resolve(share.held_bytes > 0 || null), { what: "the first piece" });
  t.true(share.held_bytes <= 20 * KB, `${share.held_bytes} bytes`);
  source.end(Buffer.alloc(80 * KB, "y"));
  await until(() => Promise.resolve(source.isPaused() || null), { what: "a source that is not read" });
  other.release();
  t.is((await body).length, 10_000 + 80 * KB);
  t.is(share.held_bytes, 10_000 + 80 * KB);
});

test("a body beyond its limit is read on and dropped, then refused", async (t) => {
  const budget = new BodyBudget({ small_bytes: 0 });
  const source = new PassThrough();
  const share = budget.enter("ann");
  const body = collect(source, { ...ERRORS, limit_bytes: 10 * KB, discard_bytes: 100 * KB, share });
  source.write(Buffer.alloc(50 * KB));
  await until(() => Promise.resolve(source.readableLength === 0 || null), { what: "what is dropped" });
  t.is(share.held_bytes, 0);
  source.end();
  await t.throwsAsync(body, { message: "too large" });
});

test("a body that is evicted, late, slow, or broken off is refused, and its source read no further", async (t) => {
  const budget = new BodyBudget({ most_bytes: 100 * KB, small_bytes: 0, wait_ms: 0, evicts: true });
  const source = new PassThrough();
  const body = collect(source, { ...ERRORS, limit_bytes: 100 * KB, share: budget.enter("net 1") });
  source.write(Buffer.alloc(70 * KB));
  await until(() => Promise.resolve(budget.held_bytes > 0 || null), { what: "its beginning" });
  await budget.enter("net 2").hold(66 * KB);
  await t.throwsAsync(body, { message: /unfinished data/ });
  t.true(source.isPaused());
  t.is(budget.held_bytes, 66 * KB);
  const late = collect(new PassThrough(), { ...ERRORS, limit_bytes: KB, deadline_ms: 10 });
  await t.throwsAsync(late, { message: /did not arrive within 10 ms/ });
  const slow = collect(new PassThrough(), { ...ERRORS, limit_bytes: KB, least_bytes_s: 64 });
  await t.throwsAsync(slow, { message: /64 bytes per second or faster/ });
  const closed = new PassThrough();
  const broken = collect(closed, { ...ERRORS, limit_bytes: KB });
  closed.destroy();
  await t.throwsAsync(broken, { message: "broken" });
});
