import test from "ava";

import { readLoggerLines } from "../../infra/generate/logger-lines.ts";
import { timeDigits } from "../../src/ingest/kit/times.ts";
import { USUAL } from "../../src/ingest/kit/choice.ts";
import { eventsOfJson } from "../../src/ingest/kit/line-events.ts";
import { dataOf, eventsOf, send } from "../ingest/posting.ts";
import type { Listed } from "../ingest/posting.ts";
import { AUTHORIZATION, LOG, serviceOf } from "../support/service.ts";
import { run, shipTo } from "./ship-runs.ts";

const MS = "1795168800123000000";
const US = "1795168800123456000";
const NS = "1795168800123456789";

/** Text, time in nanoseconds, severity and source of each line. */
const EXPECTED: Readonly<
  Record<string, readonly [text: string, time: string | null, severity: string, source: string]>
> = {
  GELF: ["order 17 failed", MS, "error", "box"],
  "ECS, nested": ["order 17 failed", MS, "error", "till"],
  "ECS, flat": ["order 17 failed", MS, "error", "till"],
  "Serilog, CompactJsonFormatter (CLEF)": ["Order 17 of ann failed", "1795168800123456700", "error", "Shop.Pay"],
  "Serilog, RenderedCompactJsonFormatter (CLEF)": ["Order 17 failed", "1795168800123456700", "error", "Shop.Pay"],
  ".NET, JsonConsole": ["Order 17 failed", "1795168800123456700", "error", "Shop.Pay"],
  structlog: ["order failed", US, "error", "shop.pay"],
  "python-json-logger": ["order 17 failed", MS, "error", ""],
  Monolog: ["order 17 failed", US, "error", "till"],
  "Google Cloud, exported": ["order 17 failed", NS, "error", "till"],
  "Google Cloud, written": ["order 17 failed", NS, "error", ""],
  zap: ["order failed", MS, "error", "till"],
  pino: ["order failed", MS, "error", "till"],
  bunyan: ["order failed", MS, "error", "till"],
  "logback, LogstashEncoder": ["order 17 failed", NS, "error", "shop.Pay"],
  "logback, JsonEncoder": ["order failed", MS, "error", "shop.Pay"],
  "tracing of Rust": ["order failed", US, "error", "shop::pay"],
  "PostgreSQL, jsonlog": ['relation "orders" does not exist', MS, "error", ""],
  MongoDB: ["Connection refused", MS, "warn", "NETWORK"],
  "log4j2, JsonLayout": ["order 17 failed", NS, "error", "shop.Pay"],
  "nginx, JSON of its variables": ["GET /orders/17 HTTP/1.1", MS, "", "shop.example.org"],
  Caddy: ["handled request", MS, "error", "http.log.access.log0"],
  "winston, with colours": ["order 17 failed", MS, "error", "till"],
  loguru: ["order 17 failed", MS, "error", ""],
  Nextcloud: ["order 17 failed", "1795168800000000000", "error", "files"],
  "journalctl, JSON": ["order 17 failed", US, "error", "till"],
  "syslog-ng, format-json": ["order 17 failed", null, "error", "till"],
  "Kubernetes, by Fluent Bit": ["order 17 failed", NS, "", "till"],
  "Docker, by its driver fluentd": ["order 17 failed", null, "", "till"],
};
const LINES = readLoggerLines();

for (const { logger, line } of LINES) {
  test(`a line of ${logger} has its text, time, severity and source`, (t) => {
    const [event, ...more] = eventsOfJson(line, USUAL);
    if (event === undefined || "fault" in event) return t.fail();
    const { text, time, severity, source } = event;
    t.deepEqual([text, time === null ? null : timeDigits(time), severity ?? "", source], [...EXPECTED[logger]!]);
    t.is(more.length, 0);
  });
}

/** Lines that are no logger's, or longer than what is parsed at once. */
const OTHERS: readonly string[] = [
  "no JSON",
  '{"a":1}',
  '{"msg":"one"}{"msg":"two"}',
  '[{"msg":"three"},{"msg":"four"}]',
  '{"msg":"broken"',
  '{"level":"info","time":"2026-11-20T10:00:00Z","msg":"user loaded","created":"2015-03-01T00:00:00Z","text":"hello"}',
  '{"text":"own","created":"2026-11-20T10:00:00Z","tags":["a"],"value":1.5,"attributes":{"b":1}}',
  '{"msg":"big","order":1026314602185332762,"list":[9223372036854775807]}',
  JSON.stringify({ msg: "ä".repeat(20_000), level: 50, pad: "x".repeat(9_000) }),
  JSON.stringify({ msg: "many", ...Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`name${i}`, i])) }),
  JSON.stringify({ msg: "values", level: 40, list: Array.from({ length: 20_000 }, (_, i) => i) }),
  JSON.stringify({ time: 1_795_168_800_123, pad: "y".repeat(30_000), deep: { a: { b: [{ c: 1 }, 2, null] } } }),
];

test("a line has the same event by ship as by /lines, whatever its logger and length", async (t) => {
  const service = await serviceOf(t, "embedded");
  const lines = [...LINES.map(({ line }) => line), ...OTHERS].join("\n");
  const headers = { "Content-Type": "application/x-ndjson", "X-Loggia-Tags": "way" };
  const count = LINES.length + OTHERS.length + 2;
  const posted = await send(service, "/lines", `${lines}\n`, { headers });
  t.is(posted.text, `{"accepted":${count}}`);
  const byLines = await eventsOf(service, count);
  const shipped = await run(shipTo(service.postUrl, "--json", "--tags", "way"), { input: lines, machineZone: "UTC" });
  t.like(shipped, { code: 0, out: `posted ${count}, failed 0, retried 0\n` });
  const known = new Set(byLines.map(({ id }) => id));
  const byShip = (await eventsOf(service, 2 * count)).filter(({ id }) => !known.has(id));
  t.is(byShip.length, count);
  const comparable = (events: readonly Listed[]) => Promise.all(events.map((event) => withoutId(event)));
  const withoutId = async ({ id, created, ...event }: Listed): Promise<object> => {
    // The events without a time have that of their post.
    const isPost = Math.abs(Date.now() - Number(/\d+/.exec(created)![0])) < 600_000;
    return { ...event, created: isPost ? "" : created, data: event.data === true ? await dataOf(service, id) : null };
  };
  const sorted = (events: readonly object[]) => events.map((event) => JSON.stringify(event)).toSorted();
  const [shippedEvents, postedEvents] = [sorted(await comparable(byShip)), sorted(await comparable(byLines))];
  for (const [n, event] of shippedEvents.entries()) t.is(event.slice(0, 4_000), postedEvents[n]!.slice(0, 4_000));
  t.true(shippedEvents.every((event, n) => event === postedEvents[n]));
});

test("an export gives the events that were exported, by ship and by /lines", async (t) => {
  const service = await serviceOf(t, "embedded");
  const given = [
    { text: "whole", created: "2026-11-20T10:00:00.123Z", tags: ["error", "a"], source: "till", user: "ann" },
    { text: "place", created: 1_795_168_800_000, geo: { lat: 1.5, lon: -2 }, value: -0.5, link: "http://x.example/" },
    { text: "address", created: 1_795_168_800_001, geo: "ip:192.0.2.3", tags: "x cut" },
    { text: "attributes", created: 1_795_168_800_002, attributes: { "a.b": 1, list: ["x", true, 2.5], level: "warn" } },
    { text: '{"message":"within"}', created: 1_795_168_800_003, attributes: { time_ns: "1795168800003000001" } },
  ];
  const init = { "Content-Type": "application/json" };
  t.is((await send(service, `/1/logs/${LOG}/events`, JSON.stringify(given), { headers: init })).status, 201);
  const first = await eventsOf(service, given.length);
  const url = `${service.apiUrl}/1/logs/${LOG}/export?attributes=true`;
  const exported = await (await fetch(url, { headers: { Authorization: AUTHORIZATION } })).text();
  const { out } = await run(shipTo(service.postUrl, "--json"), { input: exported });
  t.is(out, `posted ${given.length}, failed 0, retried 0\n`);
  await eventsOf(service, 2 * given.length);
  const headers = { "Content-Type": "application/x-ndjson" };
  t.is((await send(service, "/lines", exported, { headers })).text, `{"accepted":${given.length}}`);
  const all = await eventsOf(service, 3 * given.length);
  const texts = (events: readonly Listed[]) => events.map((event) => JSON.stringify({ ...event, id: "" })).toSorted();
  t.deepEqual(texts(all), [...texts(first), ...texts(first), ...texts(first)].toSorted());
});
