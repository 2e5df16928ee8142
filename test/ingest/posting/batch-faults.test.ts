import test from "ava";
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";

import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { batchJson } from "../../../src/ingest/posting/batch-answer.ts";
import { readBatch } from "../../../src/ingest/posting/batch.ts";
import { get, KEY, LOG, type Service, serviceOf } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const FIRST = "6b01546226800000168a1671";

/** Reads a body of lines, uncompressed unless its size on the wire is given. */
async function batchOf(lines: readonly string[], sent_bytes?: number) {
  const body = Buffer.from(lines.join("\n"));
  const range = { read_ms: Date.now(), trusted_ms: Date.now(), retentionDays: null };
  return await readBatch(
    "lines",
    { body, sent_bytes: sent_bytes ?? body.length },
    { limits: DEFAULT_LIMITS, range: range, secret: "", scheduler: new Scheduler() },
  );
}

type Fields = { text: string; tags: string[]; data?: string };
const fieldsOf = (line: { fields: string }): Fields => JSON.parse(`{${line.fields.replace(/}$/, "")}}`) as Fields;

test("a batch leaves a hundred error events and one that counts the rest", async (t) => {
  const lines = Array.from({ length: 250 }, (_, n) => (n % 2 === 0 ? `{"text":"event ${n}"}` : `[${n}]`));
  const batch = await batchOf([...lines, ...Array.from({ length: 50 }, () => "0")]);
  t.like(batch, { accepted: 125, rejected: 175 });
  t.is(batch.items.length, 300);
  t.is(batch.lines.length, 125 + 100 + 1);
  const texts = batch.lines.map((line) => fieldsOf(line).text);
  t.deepEqual(texts.slice(0, 2), ["event 0", "Bad event: the event is an array, a JSON object is expected"]);
  t.is(texts.at(-2), "event 248");
  t.is(texts.at(-1), "Bad event: 75 more events of the batch are invalid; only the first 100 have error events");
  t.deepEqual(fieldsOf(batch.lines.at(-1)!).tags, ["error", "bad-event"]);
});

test("every event of a batch with many faults is returned with its own id", async (t) => {
  const lines = Array.from({ length: 250 }, (_, n) => (n < 140 ? "0" : `{"text":"event ${n}"}`));
  const batch = await batchOf(lines);
  const { items } = JSON.parse(batchJson({ ...batch, first: FIRST as never })) as { items: { id?: string }[] };
  const counter = (n: number) => parseInt(items[n]!.id!.slice(11, 16), 16);
  // The first event follows the hundred error events, each of which has an id.
  t.is(counter(140) - parseInt(FIRST.slice(11, 16), 16), 100);
  t.is(counter(249) - counter(140), 109);
});

test("a batch without a valid event becomes one error event with its first hundred faults", async (t) => {
  const batch = await batchOf(Array.from({ length: 3_000 }, (_, n) => `{"text":${n}}`));
  t.like(batch, { accepted: 0, rejected: 3_000 });
  t.is(batch.items.length, 100);
  t.is(batch.lines.length, 1);
  const { text, data } = fieldsOf(batch.lines[0]!);
  t.is(
    text,
    "Bad event: none of the 3,000 events of a batch is valid; the first fault: text is 0, a string is expected",
  );
  const shown = JSON.parse(data!) as { fault: string; posted: string }[];
  t.is(shown.length, 100);
  t.deepEqual(shown[99], { fault: "text is 99, a string is expected", posted: '{"text":99}' });
});

test("the error event of a batch without a valid event fits the bus, whatever it contains", async (t) => {
  const line = `{"text":"${"\\u0001".repeat(20_000)}"}`;
  const batch = await batchOf(Array.from({ length: 100 }, () => line));
  t.is(batch.lines.length, 1);
  t.true(batch.lines[0]!.fields.length < 950_000, `${batch.lines[0]!.fields.length}`);
});

test("a compressed body may have a hundred events and one more for each byte", async (t) => {
  const lines = Array.from({ length: 149 }, () => '{"text":"x"}');
  await t.throwsAsync(() => batchOf(lines, 48), { message: /at most 148 events.*one for each.*it holds 149/ });
  t.is((await batchOf(lines.slice(1), 48)).accepted, 148);
  t.is((await batchOf(lines)).accepted, 149);
});

test("a compressed array has the same limit of events", async (t) => {
  const range = { read_ms: Date.now(), trusted_ms: Date.now(), retentionDays: null };
  const read = (count: number) => {
    const body = Buffer.from(JSON.stringify(Array.from({ length: count }, () => ({ text: "x" }))));
    return readBatch(
      "array",
      { body, sent_bytes: 48 },
      { limits: DEFAULT_LIMITS, range: range, secret: "", scheduler: new Scheduler() },
    );
  };
  await t.throwsAsync(() => read(149), { message: /at most 148 events.*it holds 149/ });
  t.is((await read(148)).accepted, 148);
});

async function post(service: Service, body: Buffer) {
  const response = await fetch(`${service.postUrl}/1/logs/${LOG}/events`, {
    method: "POST",
    body: new Uint8Array(body),
    headers: {
      "Content-Type": "application/x-ndjson",
      "Content-Encoding": "gzip",
      Authorization: `Bearer ${KEY}`,
    },
  });
  return { status: response.status, text: await response.text() };
}

test("a few bytes of gzip add little to a log and to the response", async (t) => {
  const service = await serviceOf(t, "embedded");
  for (const line of ["1\n", '{"text":"x"}\n', "{}\n"]) {
    const body = gzipSync(line.repeat(5_000), { level: 9 });
    const { status, text } = await post(service, body);
    t.is(status, 413, line);
    t.true(text.length < 500, text);
  }
  // Expands less than a hundredfold, and still has more events than bytes.
  const events = gzipSync(randomBytes(400).toString("hex") + "\n1".repeat(3_000), { level: 9 });
  const refused = await post(service, events);
  t.is(refused.status, 413);
  t.regex(refused.text, /one for each compressed byte/);
  // Few events, and expands more than a hundredfold.
  const wide = await post(service, gzipSync(`{"text":"x","pad":"${"x".repeat(1_000_000)}"}`, { level: 9 }));
  t.is(wide.status, 413);
  t.regex(wide.text, /decompress to more than 100 times their size/);
  // As many events as its compressed bytes allow.
  const body = gzipSync("1\n".repeat(120), { level: 9 });
  const { status, text } = await post(service, body);
  t.is(status, 201);
  t.true(text.length < 12_000, `${text.length}`);
  const total = await until(
    async () => {
      const { headers } = await get(service, `/1/logs/${LOG}/events?tags=bad-event`);
      return Number(headers.get("x-total-count")) || null;
    },
    { what: "the error event" },
  );
  t.is(total, 1);
});
