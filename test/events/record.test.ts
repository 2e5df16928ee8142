import { deepStrictEqual } from "node:assert/strict";
import test from "ava";

import { type AcceptedEvent, parseLogKey } from "../../src/events/event.ts";
import { createIdSource } from "../../src/events/id.ts";
import { scanLines } from "../../src/events/line-scanner.ts";
import { splitLines } from "../../src/events/lines.ts";
import { decodeRecord as decodeBy, encodeLine, encodeRecord, encodeVisitLine } from "../../src/events/record.ts";
import type { RecordLine } from "../../src/events/record.ts";

const LOG = parseLogKey("shop")!;
const next = createIdSource();

function event(fields: Partial<AcceptedEvent>): AcceptedEvent {
  const bare = { text: "x", link: "", tags: [], source: "", user: "", value: null, geo: null };
  return { ...next(), log: LOG, ...bare, data: null, attributes: null, ...fields };
}

/** Decodes a record with both readers of lines, which agree. */
function decodeRecord(value: Buffer): RecordLine[] {
  const lines = decodeBy(value, splitLines);
  deepStrictEqual(decodeBy(value, scanLines), lines);
  return lines;
}

/** Fields that the pipeline adds. */
const UNKNOWN = { pattern: "", class: null };

test("events are decoded unchanged", (t) => {
  const events = [
    event({}),
    event({
      text: 'line\nbreak "quoted" \u0000 \u2028 😀',
      tags: ["a", "b"],
      source: "web",
      user: "ann",
      link: "http://x",
    }),
    event({ value: -0.5, geo: { lat: 1.5, lon: -2 }, data: "@html\n<b>" }),
    event({ geo: { ip: "203.0.113.9" } }),
    event({ attributes: '{"10":1,"2":"é \\"}","__proto__":[true,"x"]}', data: "d" }),
  ];
  const lines = decodeRecord(encodeRecord(LOG, events.map(encodeLine)));
  t.deepEqual(
    lines,
    events.map((each) => ({ kind: "event" as const, event: { ...each, ...UNKNOWN } })),
  );
});

test("visits are decoded unchanged, among events", (t) => {
  const visits = [
    { ...next(), log: LOG, user: "Ann", email: "", page: "" },
    { ...next(), log: LOG, user: 'a "b"\n\u0000 😀', email: "a@example.org", page: "/cart?a=b" },
  ];
  const other = event({});
  const record = encodeRecord(LOG, [encodeVisitLine(visits[0]!), encodeLine(other), encodeVisitLine(visits[1]!)]);
  t.deepEqual(decodeRecord(record), [
    { kind: "visit", visit: visits[0]! },
    { kind: "event", event: { ...other, ...UNKNOWN } },
    { kind: "visit", visit: visits[1]! },
  ]);
});

for (const [field, reason] of [
  ['"kind":"visitor"', /of kind "visitor", this process reads events, visits and deletions/],
  ['"user":" "', /user is not/],
  ['"user":7', /user is not/],
  ['"email":null', /email or page/],
  ['"page":[]', /email or page/],
  ['"created":1.5', /created/],
] as const) {
  test(`a visit's line with ${field} is broken`, (t) => {
    const line = encodeVisitLine({ ...next(), log: LOG, user: "ann", email: "", page: "" }).replace(/}$/, `,${field}}`);
    const [read] = decodeRecord(encodeRecord(LOG, [line]));
    t.regex(read?.kind === "broken" ? read.reason : "", reason);
  });
}

test("a moment outside the range of dates is broken", (t) => {
  const moments = [8.64e15 + 1, -8.64e15 - 1, 8.64e15, -8.64e15];
  const record = encodeRecord(
    LOG,
    moments.map((created) => encodeLine(event({ created }))),
  );
  t.deepEqual(
    decodeRecord(record).map((line) => (line.kind === "broken" ? line.reason : "event")),
    ["created is not a valid time", "created is not a valid time", "event", "event"],
  );
});

test("a broken line affects no other", (t) => {
  const record = encodeRecord(LOG, [encodeLine(event({})), "{", '{"id":"short"}', encodeLine(event({}))]);
  t.deepEqual(
    decodeRecord(record).map((line) => (line.kind === "broken" ? line.reason : "event")),
    ["event", "the line is not a JSON object", "id is not 24 hex digits", "event"],
  );
});

test("a record with its head alone is empty", (t) => {
  t.deepEqual(decodeRecord(Buffer.from('{"v":1,"log":"shop"}')), []);
});

test("a line is decoded as JSON.parse reads it, also if it is not one of ours", (t) => {
  const usual = encodeLine(event({}));
  for (const [from, to] of [
    [/"id":"[^"]*"/, '"id":"6AB1F2C312300000DEADBEEF"'],
    [/"id":"[^"]*"/, '"id":"6ab1f2c31230000"'],
    [/"created":\d+/, '"created":1.5'],
    [/"created":\d+/, '"created":"2026-11-22"'],
    [/"created":\d+/, '"created":999999999999999'],
    [/"text":"x"/, '"text":null'],
    [/}$/, ',"link":null}'],
    [/}$/, ',"source":null}'],
    [/}$/, ',"user":null}'],
    [/}$/, ',"tags":null}'],
    [/}$/, ',"tags":"a b"}'],
    [/}$/, ',"value":"1"}'],
    [/}$/, ',"geo":"1,2"}'],
    [/}$/, ',"geo":{"lat":1}}'],
    [/}$/, ',"data":null,"value":null,"geo":null}'],
    [/}$/, ',"data":"","link":"","tags":["a","a"]}'],
    [/}$/, ',"attributes":null}'],
    [/}$/, ',"attributes":{}}'],
    [/}$/, ',"attributes":{"b":{"c":1},"a":2}}'],
    [/}$/, ',"attributes":"a"}'],
    [/}$/, ',"attributes":[1]}'],
    [/}$/, ',"attributes":{"a":[{"b":1}]}}'],
    [/}$/, ',"attributes":{"a":]}}'],
    [/}$/, ',"attributes":{"a":"\\ud800"}}'],
  ] as const) {
    const line = usual.replace(from, to);
    t.not(line, usual);
    const record = encodeRecord(LOG, [line]);
    t.deepEqual(decodeBy(record, scanLines), decodeBy(record, splitLines), line);
  }
});

for (const [name, value, reason] of [
  ["empty", "", /first line is not a JSON object/],
  ["no JSON", "hello\nworld", /first line is not a JSON object/],
  ["of another version", '{"v":2,"log":"shop"}\n{}', /version is 2, this process reads 1/],
  ["without a log", '{"v":1}\n{}', /names no log/],
] as const) {
  test(`a record that is ${name} is returned whole as one broken line`, (t) => {
    const [line, ...more] = decodeRecord(Buffer.from(value));
    t.is(more.length, 0);
    if (line?.kind !== "broken") return t.fail();
    t.regex(line.reason, reason);
    t.is(line.line, value);
  });
}

const FIELD_FAULTS: readonly [string, RegExp][] = [
  ['"created":"x"', /created/],
  ['"text":5', /text/],
  ['"tags":[1]', /tags/],
  ['"value":"5"', /value/],
  ['"geo":{"lat":1}', /geo/],
  ['"data":{}', /data/],
  ['"source":null', /source/],
  ['"attributes":"a"', /attributes/],
  ['"attributes":{"a":[{"b":1}]}', /attributes/],
];
for (const [field, reason] of FIELD_FAULTS) {
  test(`a line with ${field} is broken`, (t) => {
    const line = encodeLine(event({})).replace(/}$/, `,${field}}`);
    const [read] = decodeRecord(encodeRecord(LOG, [line]));
    t.regex(read?.kind === "broken" ? read.reason : "", reason);
  });
}
