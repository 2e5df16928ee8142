import { deepStrictEqual } from "node:assert/strict";
import test from "ava";

import { parseLogKey } from "../../../src/events/event.ts";
import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { scanLines } from "../../../src/events/line-scanner.ts";
import { splitLines } from "../../../src/events/lines.ts";
import type { OpenLines } from "../../../src/events/lines.ts";
import { completeLine, decodeRecord, encodeRecord } from "../../../src/events/record.ts";
import { createIdSource } from "../../../src/events/id.ts";
import { type BatchBody, readBatch } from "../../../src/ingest/posting/batch.ts";
import { holdOfBest_ms } from "../../support/turns.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const LOG = parseLogKey("shop")!;
const NOW_MS = Date.UTC(2026, 10, 22);
const RANGE = { read_ms: NOW_MS, trusted_ms: NOW_MS, retentionDays: 30 };
const { id } = createIdSource()();

/**
 * Reads a body of lines with both readers, which agree; returns the fault of each line, and the
 * events that the pipeline gets.
 */
async function outcomes(body: string) {
  const found = await outcomesBy(splitLines, body);
  deepStrictEqual(await outcomesBy(scanLines, body), found);
  return found;
}

async function outcomesBy(openLines: OpenLines, body: string) {
  const rules = { limits: DEFAULT_LIMITS, range: RANGE, secret: "", openLines, scheduler: new Scheduler() };
  const { items } = await readBatch("lines", plain(body), rules);
  const lines = items.map(({ line }) => completeLine(id, line!.created ?? "7", line!.fields));
  const events = decodeRecord(encodeRecord(LOG, lines));
  return items.map(({ fault }, i) => ({ fault, event: events[i] }));
}

/** Returns an uncompressed body. */
function plain(text: string): BatchBody {
  const body = Buffer.from(text);
  return { body, sent_bytes: body.length };
}

const usual = (fields: object) => JSON.stringify({ text: "x", ...fields });
const LINES: readonly string[] = [
  usual({ created: NOW_MS, link: "", tags: ["a", "b"], source: "web", user: "ann", value: 553.44 }),
  usual({ created: NOW_MS - 1.5 }),
  usual({ created: "2026-11-21T10:00:00Z" }),
  usual({ created: "" }),
  usual({ created: NOW_MS + 600_000 }),
  usual({ created: -1 }),
  usual({ created: NOW_MS - 40 * 86_400_000 }),
  usual({ id: "6ab1f2c312300000deadbeef" }),
  usual({ data: "" }),
  usual({ data: '{"a":"\\n"}' }),
  usual({ user: null, value: null, tags: null }),
  usual({ tags: [] }),
  usual({ tags: ["a", "b", "a"] }),
  usual({ tags: ["a b", "c"] }),
  usual({ tags: ["a", "", "c"] }),
  usual({ tags: Array.from({ length: 90 }, (_, i) => `${i}`) }),
  usual({ tags: ["a\u00a0b"] }),
  usual({ tags: "a b\tc" }),
  usual({ tags: ["t".repeat(100), "u".repeat(99)] }),
  usual({ tags: ["t".repeat(100), "u".repeat(100)] }),
  usual({ value: "12.50" }),
  usual({ value: -0 }),
  usual({ value: 1e300 }),
  usual({ value: "a lot" }),
  usual({ geo: "40.1,-76.3" }),
  usual({ geo: { lat: 1, lon: 2 } }),
  usual({ geo: { lat: 91, lon: 2 } }),
  usual({ attributes: { codes: [1, 2], "http.status": 500, ok: true } }),
  usual({ attributes: { http: { status: 500, path: "/a" }, b: 1, a: 1 } }),
  usual({ attributes: { "http.status": 500 }, geo: "40.1,-76.3" }),
  usual({ attributes: { city: "Zürich", quoted: 'a"b\\' } }),
  usual({ attributes: { deep: "x".repeat(8_000) } }),
  usual({ attributes: { list: [{ a: 1 }] } }),
  usual({ attributes: {} }),
  usual({ attributes: { nothing: null, none: [], empty: {} } }),
  usual({ attributes: null }),
  usual({ attributes: [] }),
  usual({ attributes: "a" }),
  '{"text":"x","attributes":{"a":1.0,"a":2}}',
  '{"text":"x","attributes":{"a":1e999}}',
  '{"text":"x","attributes":{"__proto__":1,"2":1,"10":2}}',
  usual({ text: "" }),
  usual({ text: " \u00a0" }),
  usual({ text: "x".repeat(DEFAULT_LIMITS.text) }),
  usual({ text: "x".repeat(DEFAULT_LIMITS.text + 1) }),
  usual({ text: "🎉".repeat(DEFAULT_LIMITS.text) }),
  usual({ text: "🎉".repeat(DEFAULT_LIMITS.text + 1) }),
  usual({ text: "\ud800" }),
  usual({ text: "a\u0000b" }),
  usual({ link: "l".repeat(DEFAULT_LIMITS.link + 1) }),
  usual({ user: "u".repeat(DEFAULT_LIMITS.user + 1) }),
  usual({ source: "s".repeat(DEFAULT_LIMITS.source + 1) }),
  usual({ data: "d".repeat(DEFAULT_LIMITS.data) }),
  usual({ data: "d".repeat(DEFAULT_LIMITS.data + 1) }),
  usual({ other: 1, apikey: "secret" }),
  '{"value":1,"text":"the value first","created":5}',
  '{"text": "blanks", "tags": ["a", "b"]}',
  '{"text":"twice","text":"the last counts"}',
  '{"text":"x","value":1e999}',
  '{"tags":["only"]}',
  "[]",
  "null",
];

test("a line gives the same event or fault from the scanner as from JSON.parse", async (t) => {
  for (const line of LINES) {
    // A leading blank makes the reader parse the line as a whole.
    const [[read], [expected]] = [await outcomes(line), await outcomes(` ${line}`)];
    t.deepEqual(read, expected!, line);
    t.deepEqual(await outcomes(`${line}\r\n`), [expected!], `${line} of another system`);
  }
  const all = await outcomes(LINES.join("\n"));
  t.is(all.length, LINES.length);
  t.deepEqual(all, (await Promise.all(LINES.map((line) => outcomes(line)))).flat());
});

/** Degrees of an object, and those that are stored. */
const DEGREES: readonly (readonly [posted: number, stored: number])[] = [
  [40.1203, 40.1203],
  [-89.12345678904, -89.123456789],
  [0.0000012, 0.0000012],
  [0.0000005, 0.0000005],
  [-0.0000001234, -0.0000001234],
  [0.0000000001, 0.0000000001],
  [0.00000000004, 0],
  [-0.00000000004, 0],
  [0, 0],
];

test("an object of degrees keeps ten decimals, as its text does", async (t) => {
  for (const [posted, stored] of DEGREES) {
    const geo = { lat: stored, lon: 0 - stored };
    const [ofObject] = await outcomes(usual({ geo: { lat: posted, lon: 0 - posted } }));
    t.like(ofObject, { fault: null, event: { event: { geo } } }, String(posted));
    const [ofText] = await outcomes(usual({ geo: `${geo.lat.toFixed(10)},${geo.lon.toFixed(10)}` }));
    t.deepEqual(ofText, ofObject, String(posted));
  }
});

test("attributes that are not valid JSON make their line a bad event", async (t) => {
  for (const line of [
    '{"text":"x","attributes":{"a":]}}',
    '{"attributes":{"a":1},"text":"x"',
    '{"attributes":{"a":}}',
  ]) {
    const [read] = await outcomes(line);
    t.regex(read?.fault ?? "", /^Bad event: the line is not valid JSON/, line);
  }
});

test("blank lines are not events, wherever they are", async (t) => {
  const line = usual({});
  t.is((await outcomes(`\n\n${line}\r\n \n\t\r\n${line}\n\u00a0\n\n`)).length, 2);
  await t.throwsAsync(() => outcomes("\n \r\n"), { message: /at least one event/ });
});

test("a byte order mark is not part of the first line", async (t) => {
  const [read, ...more] = await outcomes(`\uFEFF${usual({})}\n\uFEFF${usual({})}`);
  t.is(read?.fault, null);
  t.regex(more[0]?.fault ?? "", /the line is not valid JSON/);
});

test("blank lines in a body do not change its events", async (t) => {
  const alone = await readBatch("lines", plain(usual({ user: "ann" })), {
    limits: DEFAULT_LIMITS,
    range: RANGE,
    secret: "",
    scheduler: new Scheduler(),
  });
  const beside = await readBatch("lines", plain(`\n${usual({ user: "ann" })}${"\n".repeat(1_000_000)}`), {
    limits: DEFAULT_LIMITS,
    range: RANGE,
    secret: "",
    scheduler: new Scheduler(),
  });
  t.deepEqual(beside, alone);
});

test("reading lines yields to other work, also for blank lines", async (t) => {
  for (const lines of [`${usual({})}\n`.repeat(4_900), "\n".repeat(1_000_000)]) {
    const hold_ms = await holdOfBest_ms(25, () =>
      readBatch("lines", plain(`${lines}${usual({})}`), {
        limits: DEFAULT_LIMITS,
        range: RANGE,
        secret: "",
        scheduler: new Scheduler(),
      }),
    );
    t.true(hold_ms < 25, `${hold_ms} ms`);
  }
});

test("too many events are refused with their number", async (t) => {
  const body = `${usual({})}\n\n`.repeat(5_003);
  await t.throwsAsync(() => outcomes(body), { message: /at most 5000 events; it holds 5003/ });
});
