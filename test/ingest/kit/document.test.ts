import test from "ava";

import { eventOfDocument } from "../../../src/ingest/kit/document.ts";

const USUAL = { text: [], time: [], source: [], tags: [] };

test("the word of a level takes precedence over its number, whose scale is unknown", (t) => {
  const severityOf = (document: object) => eventOfDocument(document, USUAL).severity;
  t.is(severityOf({ message: "log4js", level: 50, level_name: "TRACE" }), "trace");
  t.is(severityOf({ message: "monolog", level: 200, level_name: "INFO" }), "info");
  t.is(severityOf({ message: "pino", level: 50 }), "error");
  t.is(severityOf({ data: ["log4js"], level: { level: 20_000, levelStr: "WARN", colour: "yellow" } }), "warn");
  t.is(severityOf({ message: "loglevel", level: { label: "error", value: 4 } }), "error");
});

test("the text may be within an object named message", (t) => {
  const event = eventOfDocument({ message: { msg: "Order 17", meta: { order: 17 } }, severity: "info" }, USUAL);
  t.like(event, { text: "Order 17", severity: "info" });
  t.deepEqual(Object.fromEntries(event.attributes), { "message.meta.order": 17, severity: "info" });
  t.is(eventOfDocument({ message: { message: "within" }, event: "beside" }, USUAL).text, "beside");
});

test("user and source may be objects that were sent as JSON", (t) => {
  const event = eventOfDocument({ message: "x", user: '{"name":"ann","id":7}', service: '{"id":5}' }, USUAL);
  t.like(event, { user: "ann", source: "5" });
  t.is(event.attributes.get("user"), '{"name":"ann","id":7}');
  t.like(eventOfDocument({ message: "x", user: '{"roles":[]}', service: "{shop}" }, USUAL), {
    user: "",
    source: "{shop}",
  });
});

test("a number of a level is on the scale of its logger", (t) => {
  const severityOf = (document: object) => eventOfDocument(document, USUAL).severity;
  t.is(severityOf({ message: "application", level: 3 }), null);
  t.is(severityOf({ message: "application", severity: 3 }), null);
  t.is(severityOf({ short_message: "GELF", level: 3 }), "error");
  t.is(severityOf({ MESSAGE: "journal", PRIORITY: "4" }), "warn");
  t.is(severityOf({ MESSAGE: "syslog-ng", PRIORITY: "err" }), "error");
  t.is(severityOf({ message: "Nextcloud", reqId: "YnlNSh", level: 2 }), "warn");
  t.is(severityOf({ msg: "fastify", reqId: "req-1", level: 30 }), "info");
  t.is(severityOf({ msg: "a member named s", s: "E" }), null);
});

test("a logger's text and time take precedence over names that applications use, too", (t) => {
  const event = eventOfDocument(
    { text: "own", date: "2015-01-01", created: "2016-01-01", event: "e", "@t": 2e9 },
    USUAL,
  );
  t.like(event, { text: "e", time: { ms: 2e12, ns: 0 } });
  t.is(eventOfDocument({ text: "own", body: "b" }, USUAL).text, "own");
  t.is(eventOfDocument({ created: "2016-01-01T00:00:00Z", request: "r" }, USUAL).time?.ms, Date.UTC(2016, 0));
});

test("the source is a service, else a program, the host or the logger", (t) => {
  const sourceOf = (document: object) => eventOfDocument(document, USUAL).source;
  const pino = { level: 30, name: "till", hostname: "box" };
  t.is(sourceOf(pino), "till");
  t.is(sourceOf({ ...pino, service: "pay" }), "pay");
  t.is(sourceOf({ ...pino, level: "info" }), "box", "an application's member named name");
  t.is(sourceOf({ ...pino, level: "info", pid: 7 }), "till");
  t.is(sourceOf({ logger: "shop.Pay" }), "shop.Pay");
  t.is(sourceOf({ logger: "shop.Pay", _HOSTNAME: "box" }), "box");
  t.is(sourceOf({ PROGRAM: "till", host: "box" }), "till");
  t.is(sourceOf({ channel: "app", host: "box" }), "app");
  t.is(sourceOf({ labels: { app: "till" }, kubernetes: { container_name: "pay" } }), "till");
  t.is(sourceOf({ kubernetes: { container_name: "pay" }, host: "box" }), "pay");
  t.is(sourceOf({ container_name: "/till" }), "till");
  t.is(sourceOf({ program: "/till" }), "/till");
  t.is(sourceOf({ Category: "Shop" }), "");
  t.is(eventOfDocument({ container_name: "/till" }, { ...USUAL, source: ["container_name"] }).source, "till");
});

test("a message template is the text with the values of its placeholders, in bounds", (t) => {
  const eventOf = (template: string, more: object = {}) => eventOfDocument({ "@mt": template, ...more }, USUAL);
  const event = eventOf("{A} {$B,-5} {C:0.0} {D} {", { A: 1, B: true, Properties: { C: 2 } });
  t.is(event.text, "1 true 2 {D} {");
  t.is(event.attributes.get("@mt"), "{A} {$B,-5} {C:0.0} {D} {");
  t.true(eventOf("{A}".repeat(5_000), { A: "x".repeat(5_000) }).text.length < 100_000);
});

/** What loggers write about 2026-06-05 12:00 UTC and 250 ms, and the attributes that remain. */
const LOGGED: readonly (readonly [logger: string, document: object, attributes: object])[] = [
  [
    "log4j2's JsonLayout",
    { instant: { epochSecond: 1_780_660_800, nanoOfSecond: 250_000_000 }, level: "INFO", message: "x", threadId: 1 },
    { level: "INFO", threadId: 1 },
  ],
  ["older log4j2", { timeMillis: 1_780_660_800_250, message: "x" }, {}],
  [
    "MongoDB",
    { t: { $date: "2026-06-05T14:00:00.250+02:00" }, s: "I", c: "NETWORK", msg: "x" },
    { s: "I", c: "NETWORK" },
  ],
  ["MongoDB, canonical", { t: { $date: { $numberLong: "1780660800250" } }, msg: "x" }, {}],
  ["Google's agents", { timestamp: { seconds: 1_780_660_800, nanos: 250_000_000 }, message: "x" }, {}],
  ["Python's asctime", { asctime: "2026-06-05 12:00:00,250", message: "x" }, {}],
  ["PostgreSQL's jsonlog", { timestamp: "2026-06-05 14:00:00.250 CEST", pid: 7, message: "x" }, { pid: 7 }],
  ["PostgreSQL in Moscow", { timestamp: "2026-06-05 15:00:00.250 MSK", message: "x" }, {}],
  ["Java's ZonedDateTime", { time: "2026-06-05T14:00:00.250+02:00[Europe/Berlin]", message: "x" }, {}],
  ["a trailing zone", { time: "2026-06-05 12:00:00.250 UTC", message: "x" }, {}],
  ["ISO basic", { ts: "20260605T120000.250Z", message: "x" }, {}],
  ["a date beside a time of day", { date: "2026-06-05", time: "12:00:00.250", message: "x" }, {}],
];

for (const [logger, document, attributes] of LOGGED) {
  test(`reads the time of ${logger}`, (t) => {
    const event = eventOfDocument(document, USUAL);
    t.deepEqual(event.time, { ms: Date.UTC(2026, 5, 5, 12, 0, 0, 250), ns: 0 });
    t.deepEqual(Object.fromEntries(event.attributes), attributes);
    t.is(event.isTimeUnread, undefined);
  });
}

test("a chosen field may be an object that is a time", (t) => {
  const event = eventOfDocument(
    { at: { seconds: 1_780_660_800, nanos: 5, zone: "x" }, time: "2020-01-01", message: "x" },
    { ...USUAL, time: ["at"] },
  );
  t.deepEqual(event.time, { ms: Date.UTC(2026, 5, 5, 12), ns: 5 });
  t.deepEqual(Object.fromEntries(event.attributes), { "at.zone": "x", time: "2020-01-01" });
});

test("an object that is no time stays, and is counted as unread", (t) => {
  const event = eventOfDocument({ time: { seconds: 5, nanos: 7 }, message: "x" }, USUAL);
  t.is(event.time, null);
  t.true(event.isTimeUnread);
  t.deepEqual(Object.fromEntries(event.attributes), { "time.seconds": 5, "time.nanos": 7 });
});
