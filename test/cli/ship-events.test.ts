import test from "ava";

import { DEFAULT_LIMITS } from "../../src/events/limits.ts";
import { USUAL_TIMES } from "../../src/ingest/kit/time-forms.ts";
import { eventWriter, type EventOptions, lineReader } from "../../src/cli/ship-events.ts";

function eventOf(line: string, given: Partial<EventOptions>): Record<string, unknown> {
  const options = { cut: DEFAULT_LIMITS.text, data: DEFAULT_LIMITS.data, ...given };
  const write = eventWriter(lineReader(options)?.read ?? null, options, {
    reading: USUAL_TIMES,
    onUntimed: () => {},
  });
  return JSON.parse(write(line)) as Record<string, unknown>;
}

test("every digit of a long integer in JSON stays, and so do its time and value", (t) => {
  const line =
    '{"msg":"order 1026314602185332762","order":1026314602185332762,"neg":-137198070982544818,"list":[9223372036854775807],' +
    '"deep":{"id":1683885693914773462},"small":9007199254740991,"part":0.1234567890123456789,' +
    '"time":1795747132533000000,"value":123456789012345678}';
  const event = eventOf(line, { json: true });
  t.like(event, { text: "order 1026314602185332762", created: 1_795_747_132_533, value: "123456789012345678" });
  t.deepEqual(event["attributes"], {
    order: "1026314602185332762",
    neg: "-137198070982544818",
    list: ["9223372036854775807"],
    "deep.id": "1683885693914773462",
    small: 9_007_199_254_740_991,
    part: 0.123_456_789_012_345_68,
  });
});

test("a dot of the pattern matches line breaks where events have several lines", (t) => {
  const trace = "2026-11-20T10:00:01Z failed\n  at a\n  at b";
  const pattern = String.raw`^(?<created>\S+) (?<text>.*)$`;
  const expected = { created: Date.UTC(2026, 10, 20, 10, 0, 1), text: "failed\n  at a\n  at b" };
  t.like(eventOf(trace, { pattern, multilineStart: "^2026" }), expected);
  t.deepEqual(eventOf(trace, { pattern }), { text: trace });
});

test("what is cut is tagged, with the tags that it has, if there is room", (t) => {
  const long = "ä".repeat(DEFAULT_LIMITS.text + 1);
  t.like(eventOf(long, { tags: "a b" }), { text: long.slice(1), tags: "a b cut", data: long });
  t.like(eventOf(JSON.stringify({ msg: long, tags: ["a", "b"] }), { json: true }), { tags: "a b cut" });
  const full = "t".repeat(DEFAULT_LIMITS.tags);
  t.is(eventOf(long, { tags: full })["tags"], full);
  t.is(eventOf("short", {})["tags"], undefined);
});
