import test from "ava";

import { createBuckets, createRecent } from "../../src/ratelimit/buckets.ts";

function clock() {
  let ms = 1_000_000;
  return { now: () => ms, pass: (s: number) => void (ms += s * 1000) };
}

test("a bucket allows its burst at once, then its rate", (t) => {
  const time = clock();
  const buckets = createBuckets({ rate_s: 2, burst: 3, maxEntries: 100, now: time.now });
  t.deepEqual(
    [1, 2, 3, 4].map(() => buckets.take("a")),
    [0, 0, 0, 0.5],
  );
  t.is(buckets.take("b"), 0, "another has its own");
  time.pass(0.25);
  t.is(buckets.take("a"), 0.25);
  time.pass(0.25);
  t.is(buckets.take("a"), 0);
  time.pass(1000);
  t.deepEqual(
    [1, 2, 3, 4].map(() => buckets.take("a")),
    [0, 0, 0, 0.5],
    "never more than the burst",
  );
});

test("a refused request costs nothing", (t) => {
  const time = clock();
  const buckets = createBuckets({ rate_s: 1, burst: 1, maxEntries: 100, now: time.now });
  buckets.take("a");
  for (let i = 0; i < 50; i++) t.is(buckets.take("a"), 1);
  time.pass(1);
  t.is(buckets.take("a"), 0);
});

test("a debt is repaid over time, and is limited", (t) => {
  const time = clock();
  const buckets = createBuckets({ rate_s: 1, burst: 2, maxEntries: 100, now: time.now });
  for (let i = 0; i < 5; i++) buckets.charge("a", 1);
  t.is(buckets.wait("a"), 4);
  for (let i = 0; i < 1000; i++) buckets.charge("a", 1);
  t.is(buckets.wait("a"), 21);
  time.pass(21);
  t.is(buckets.wait("a"), 0);
  t.is(buckets.wait("nobody"), 0);
});

test("memory is bounded, and frequent callers are kept among many unknown ones", (t) => {
  const recent = createRecent<number>(1000);
  recent.set("regular", 7);
  for (let i = 0; i < 100_000; i++) {
    recent.set(`stranger ${i}`, i);
    if (i % 100 === 0) t.is(recent.get("regular"), 7);
  }
  let found = 0;
  for (let i = 0; i < 100_000; i++) if (recent.get(`stranger ${i}`) !== undefined) found += 1;
  t.true(found >= 499 && found <= 1000, String(found));
});
