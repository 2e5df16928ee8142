import test from "ava";

import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { readBatch } from "../../../src/ingest/posting/batch.ts";
import type { BatchForm } from "../../../src/ingest/posting/batch.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const NOW_MS = Date.UTC(2026, 10, 22);

async function linesOf(form: BatchForm, events: readonly object[], keepsClaims: boolean) {
  const json = events.map((event) => JSON.stringify(event));
  const body = Buffer.from(form === "array" ? `[${json.join(",")}]` : json.join("\n"));
  const range = { read_ms: NOW_MS, trusted_ms: NOW_MS, retentionDays: 30, keepsClaims };
  const batch = await readBatch(
    form,
    { body, sent_bytes: body.length },
    { limits: DEFAULT_LIMITS, range, secret: "k", scheduler: new Scheduler() },
  );
  const lines = batch.items.map(({ line }) => {
    const { text, attributes } = JSON.parse(`{${line!.fields}`) as { text: string; attributes?: object };
    return { text, created: line!.created, attributes };
  });
  return { lines, rejected: batch.rejected };
}

const EVENTS = [
  { text: "hour ahead", created: NOW_MS + 3_600_000 },
  { text: "with others", created: "2026-11-22T01:00:00Z", attributes: { z: 1, a: [true] } },
  { text: "odd \u00e9", created: -5_000, tags: "a b" },
  { text: "in time", created: NOW_MS + 300_000 },
];

for (const form of ["lines", "array"] as const) {
  test(`a batch may keep times that are ahead or before 1970: ${form}`, async (t) => {
    t.deepEqual(await linesOf(form, EVENTS, true), {
      lines: [
        { text: "hour ahead", created: null, attributes: { claimed_created: "2026-11-22T01:00:00.000Z" } },
        {
          text: "with others",
          created: null,
          attributes: { a: [true], claimed_created: "2026-11-22T01:00:00.000Z", z: 1 },
        },
        { text: "odd é", created: null, attributes: { claimed_created: "1969-12-31T23:59:55.000Z" } },
        { text: "in time", created: String(NOW_MS + 300_000), attributes: undefined },
      ],
      rejected: 0,
    });
    t.is((await linesOf(form, EVENTS, false)).rejected, 3);
  });
}

test("a batch that keeps claimed times still refuses other times", async (t) => {
  const wrong = [{ text: "old", created: 0 }, { text: "none", created: "soon" }, { text: "good" }];
  t.is((await linesOf("lines", wrong, true)).rejected, 2);
});
