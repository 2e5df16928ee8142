import test from "ava";

import { createRateLimiter, DEFAULT_RATES } from "../../src/ratelimit/rate-limiter.ts";
import { ResponseMemory } from "../../src/api/response-memory.ts";
import { EXPORT_BYTES } from "../../src/api/export/events.ts";

const MB = 1024 * 1024;

test("exports of two people leave room for those of others, and all of them for queries", async (t) => {
  const limiter = createRateLimiter();
  const left = new AbortController();
  const begin = (person: string) => new ResponseMemory(limiter, person, left.signal);
  for (const person of ["ann", "bob"]) {
    for (let n = 0; n < 2; n++) await begin(person).takeForExport(EXPORT_BYTES);
    void begin(person)
      .takeForExport(EXPORT_BYTES)
      .catch(() => {});
  }
  t.is(limiter.answers.running, 4 * EXPORT_BYTES, "a person has two exports at a time");
  const exports = ["cal", "dan"].map(begin);
  for (const memory of exports) await memory.takeForExport(EXPORT_BYTES);
  for (let n = 0; n < 3; n++) await begin(`query ${n}`).take(40 * MB);
  t.true(limiter.answers.running <= DEFAULT_RATES.answers_mb * MB);
  for (const memory of exports) memory.release();
  t.is(limiter.answers.running, 4 * EXPORT_BYTES + 3 * 40 * MB);
  left.abort();
});
