import test from "ava";

import { DEFAULT_LIMITS } from "../../src/events/limits.ts";
import { eventWriter, type EventOptions, lineReader, type LineMetadata } from "../../src/cli/ship/events.ts";

type Event = Record<string, unknown>;

const MOMENT = "2026-11-20T10:00:00.000Z";

function eventsOf(line: string, given: Partial<EventOptions>, metadata?: LineMetadata): Event[] {
  const options = { cut: DEFAULT_LIMITS.text, data: DEFAULT_LIMITS.data, ...given };
  const write = eventWriter(lineReader(options)?.read ?? null, options, { onUntimed: () => {} });
  return write(line, metadata).map((json) => JSON.parse(json) as Event);
}

function eventOf(line: string | object, given: Partial<EventOptions>, metadata?: LineMetadata): Event {
  const [event, ...more] = eventsOf(typeof line === "string" ? line : JSON.stringify(line), given, metadata);
  if (event === undefined || more.length > 0) throw new Error(`the line has ${more.length} more events`);
  return event;
}

test("every digit of a long integer in JSON stays, and so does its time", (t) => {
  const line =
    '{"msg":"order 1026314602185332762","order":1026314602185332762,"neg":-137198070982544818,"list":[9223372036854775807],' +
    '"deep":{"id":1683885693914773462},"small":9007199254740991,"part":0.1234567890123456789,' +
    '"time":1795747132533000000,"value":123456789012345678}';
  const event = eventOf(line, { json: true });
  t.like(event, { text: "order 1026314602185332762", created: 1_795_747_132_533, value: undefined });
  t.deepEqual(event["attributes"], {
    order: "1026314602185332762",
    neg: "-137198070982544818",
    list: ["9223372036854775807"],
    "deep.id": "1683885693914773462",
    small: 9_007_199_254_740_991,
    part: 0.123_456_789_012_345_68,
    value: "123456789012345678",
  });
});

test("an application's own text and time stay attributes beside those of a logger", (t) => {
  const own = { created: "2015-03-01T00:00:00Z", text: "hello" };
  t.like(eventOf({ level: "info", time: MOMENT, msg: "user loaded", ...own }, { json: true }), {
    text: "user loaded",
    created: Date.parse(MOMENT),
    tags: ["info"],
    attributes: own,
  });
  const later = { "@t": MOMENT, "@m": "stored", date: "2015-03-01", body: "hello" };
  t.like(eventOf(later, { json: true }), { text: "stored", created: Date.parse(MOMENT) });
});

test("an object in Loggia's own form is the event that it describes", (t) => {
  const own = {
    text: "paid",
    created: MOMENT,
    tags: ["a", "error"],
    source: "till",
    value: 1.5,
    geo: { lat: 1, lon: 2 },
    user: "ann",
    link: "http://x/",
    data: "stack",
  };
  const event = eventOf({ ...own, attributes: { "a.b": 1, n: 2 }, n: 3, hash: "of the application" }, { json: true });
  t.deepEqual(event, {
    ...own,
    created: Date.parse(MOMENT),
    attributes: { "a.b": 1, hash: "of the application", n: [2, 3] },
  });
  t.like(eventOf({ ...own, created: `/Date(${Date.parse(MOMENT)})/` }, { json: true }), {
    created: Date.parse(MOMENT),
  });
  // With a name of a logger it is a logger's.
  t.like(eventOf({ ...own, level: "warn" }, { json: true }), { tags: ["warn", "a", "error"], value: undefined });
  t.like(eventOf({ ...own, geo: { lat: 100, lon: 2 }, value: "many" }, { json: true }), {
    geo: undefined,
    value: undefined,
    attributes: { "geo.lat": 100, value: "many" },
  });
});

test("small numbers in a line of JSON are no times", (t) => {
  for (const time of [0, 0.005, 12.345678, 20_190_501, -1_700_000_000]) {
    const event = eventOf({ msg: "a", time }, { json: true });
    t.is(event["created"], undefined);
    t.deepEqual(event["attributes"], { time });
  }
});

test("objects one behind another and lists of objects in a line are an event each", (t) => {
  const texts = (line: string) => eventsOf(line, { json: true }).map(({ text }) => text);
  t.deepEqual(texts('{"msg":"a"}{"msg":"b"} {"msg":"c"}'), ["a", "b", "c"]);
  t.deepEqual(texts('[{"msg":"a"},{"msg":"b"}]'), ["a", "b"]);
  t.deepEqual(texts('[{"msg":"a"}]'), ["a"]);
  t.deepEqual(texts('[{"msg":"a"}] more'), ['[{"msg":"a"}] more']);
  t.deepEqual(texts("[1]"), ["[1]"]);
});

test("a dot of the pattern matches line breaks where events have several lines", (t) => {
  const trace = "2026-11-20T10:00:01Z failed\n  at a\n  at b";
  const pattern = String.raw`^(?<created>\S+) (?<text>.*)$`;
  const expected = { created: Date.UTC(2026, 10, 20, 10, 0, 1), text: "failed\n  at a\n  at b" };
  t.like(eventOf(trace, { pattern, multilineStart: "^2026" }), expected);
  t.deepEqual(eventOf(trace, { pattern }), { text: trace });
});

test("groups of a pattern become the fields of their names, and others attributes", (t) => {
  const pattern = String.raw`^(?<created>\S+) (?<value>\S+) (?<geo>\S+) (?<tags>\w+) (?<how>\w+) (?<text>.*)$`;
  t.deepEqual(eventOf("2026-11-20T10:00:00.5Z 1.5 1,2 night well paid", { pattern, tags: "a" }), {
    created: Date.parse(MOMENT) + 500,
    value: "1.5",
    geo: "1,2",
    tags: ["a", "night"],
    text: "paid",
    attributes: { how: "well" },
  });
  t.deepEqual(eventOf("soon 1 2,3 night well paid", { pattern })["attributes"], { created: "soon", how: "well" });
});

test("groups with the names of loggers mean what they mean in JSON, also before a stack", (t) => {
  const pattern = String.raw`^(?<created>\S+ \S+) (?<level>\w+) \[(?<service>\w+)\] (?<text>.*)$`;
  const trace = "2026-11-20 10:00:01,200 ERROR [shop] checkout failed\njava.lang.Error: no stock\n\tat a.B(C.java:1)";
  t.deepEqual(eventOf(trace, { pattern, multilineStart: String.raw`^\d{4}-`, source: "till" }), {
    created: new Date(2026, 10, 20, 10, 0, 1, 200).getTime(),
    text: "checkout failed\njava.lang.Error: no stock\n\tat a.B(C.java:1)",
    tags: ["error"],
    source: "shop",
    attributes: { level: "ERROR", service: "shop" },
  });
  t.like(eventOf("a web", { pattern: String.raw`(?<text>\w) (?<host>\w+)`, source: "till" }), { source: "till" });
  t.like(eventOf("a web", { pattern: String.raw`(?<text>\w) (?<host>\w+)` }), { source: "web" });
});

test("JSON in the text that a pattern finds gives its fields, which precede the groups", (t) => {
  const pattern = String.raw`^(?<created>\S+) (?<hostname>\S+) (?<program>\w+)\[(?<pid>\d+)\]: (?<text>.*)$`;
  const head = "2026-11-20T10:00:00Z web1 till[17]: ";
  const both = { pattern, json: true } as const;
  const attributes = { hostname: "web1", program: "till", pid: "17" };
  const document = { level: "warn", msg: "retry", order: 7, time: "2026-11-20T09:59:59Z", service: "pay" };
  t.deepEqual(eventOf(head + JSON.stringify(document), both), {
    created: Date.UTC(2026, 10, 20, 9, 59, 59),
    text: "retry",
    tags: ["warn"],
    source: "pay",
    attributes: { level: "warn", order: 7, service: "pay", ...attributes },
  });
  const plain = { created: Date.parse(MOMENT), source: "till", attributes };
  t.deepEqual(eventOf(`${head}ready`, both), { ...plain, text: "ready" });
  t.like(eventOf(`${head}{"n":1}`, both), { ...plain, text: '{"n":1}', attributes: { n: 1, ...attributes } });
  t.deepEqual(
    eventsOf(`${head}{"msg":"a"}{"msg":"b"}`, both).map(({ text }) => text),
    ["a", "b"],
  );
  t.deepEqual(eventOf('{"msg":"a"}', both), { text: '{"msg":"a"}' });
});

test("what is cut is tagged, with the tags that it has, if there is room", (t) => {
  const long = "ä".repeat(DEFAULT_LIMITS.text + 1);
  t.like(eventOf(long, { tags: "a b" }), { text: long.slice(1), tags: ["a", "b", "cut"], data: long });
  t.like(eventOf({ msg: long, tags: ["a", "b"] }, { json: true }), { tags: ["a", "b", "cut"], data: long });
  const full = "t".repeat(DEFAULT_LIMITS.tags);
  t.deepEqual(eventOf(long, { tags: full })["tags"], ["cut"]);
  t.is(eventOf("short", {})["tags"], undefined);
  t.like(eventOf("abcdef", { cut: 3, data: 5 }), { text: "abc", data: "abcde" });
  t.deepEqual(eventOf({ msg: long }, { json: true, cut: 0 }), { text: long });
  const pattern = "(?<text>.{8001})(?<more>.*)";
  t.like(eventOf(`${long}!`, { pattern }), { data: `${long}!`, attributes: { more: "!" } });
});

test("the source of an option or a container precedes the host and the logger, not the service", (t) => {
  const metadata = { source: "web", created: 5, severity: "warn", attributes: { stream: "stdout", n: 1 } } as const;
  const line = { msg: "a", hostname: "3f2a", logger: "shop.Pay", n: 2 };
  t.like(eventOf(line, { json: true }), { source: "3f2a" });
  t.deepEqual(eventOf(line, { json: true }, metadata), {
    text: "a",
    source: "web",
    created: 5,
    tags: ["warn"],
    attributes: { hostname: "3f2a", logger: "shop.Pay", n: 2, stream: "stdout" },
  });
  t.like(eventOf(line, { json: true, source: "till", tags: "x", user: "ann" }, metadata), {
    source: "till",
    user: "ann",
    tags: ["warn", "x"],
  });
  t.like(eventOf({ ...line, service: "pay", level: "error", time: MOMENT }, { json: true, source: "till" }, metadata), {
    source: "pay",
    tags: ["error"],
    created: Date.parse(MOMENT),
  });
  t.like(eventOf("plain", {}, metadata), { text: "plain", source: "web", created: 5, tags: ["warn"] });
});
