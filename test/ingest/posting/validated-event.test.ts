import test from "ava";

import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { parseForm } from "../../../src/http/form.ts";
import { KeyMask } from "../../../src/ingest/posting/key-mask.ts";
import { describeForm, errorEvent, validateEvent, withoutKeys } from "../../../src/ingest/posting/validated-event.ts";
import { holdOfBest_ms } from "../../support/turns.ts";

/** How long an error event may block the event loop, in processor time. */
const HOLD_LIMIT_MS = 10;
const NOW_MS = Date.UTC(2026, 10, 22);

function read(form: string) {
  return validateEvent(parseForm(form), DEFAULT_LIMITS, () => ({
    read_ms: NOW_MS,
    trusted_ms: NOW_MS,
    retentionDays: 30,
  }));
}

function faults(form: string): readonly string[] {
  const result = read(form);
  return result.kind === "bad" ? result.faults : [];
}

test("a complete form becomes a validated event", (t) => {
  const form =
    "apikey=k&text=Sale+of+3&tags=shop%20%20sale%09shop&source=web&user=ann&value=-12.50&geo=40.1203,-76.2944&link=http://x/&data=%40html%0A<b>";
  t.deepEqual(read(form), {
    kind: "valid",
    valid: {
      text: "Sale of 3",
      link: "http://x/",
      tags: ["shop", "sale"],
      source: "web",
      user: "ann",
      value: -12.5,
      geo: { lat: 40.1203, lon: -76.2944 },
      data: "@html\n<b>",
      attributes: null,
    },
    created: null,
  });
});

test("text alone is sufficient; absent fields are empty or null", (t) => {
  const result = read("text=x");
  const absent = { link: "", tags: [], source: "", user: "", value: null, geo: null, data: null, attributes: null };
  t.deepEqual(result, { kind: "valid", valid: { text: "x", ...absent }, created: null });
});

test("an IP address is a valid place", (t) => {
  for (const ip of ["203.0.113.9", "2001:db8::1", "::ffff:203.0.113.9"]) {
    const result = read(`text=x&geo=ip:${ip}`);
    t.deepEqual(result.kind === "valid" && result.valid.geo, { ip });
  }
});

const DECIMALS: readonly [string, number][] = [
  ["0", 0],
  ["-0.5", -0.5],
  ["%2B3.25", 3.25],
  [".5", 0.5],
  ["5.", 5],
  ["100000000000000000000000000000", 1e29],
];
for (const [posted, value] of DECIMALS) {
  test(`value ${posted} is a decimal number`, (t) => {
    const result = read(`text=x&value=${posted}`);
    t.is(result.kind === "valid" ? result.valid.value : null, value);
  });
}

const FAULTS: readonly [string, RegExp][] = [
  ["", /^text is missing or blank/],
  ["text=+%0A", /^text is missing or blank/],
  ["text=x&value=12,5", /^value is "12,5", a decimal number/],
  ["text=x&value=1e3", /^value is "1e3"/],
  ["text=x&value=NaN", /^value is "NaN"/],
  ["text=x&value=0x10", /^value is "0x10"/],
  ["text=x&geo=40.1", /^geo is "40.1", <latitude>,<longitude>/],
  ["text=x&geo=91,0", /^geo is "91,0", the latitude must lie/],
  ["text=x&geo=0,180.1", /^geo is "0,180.1"/],
  ["text=x&geo=ip:300.1.1.1", /^geo is "ip:300.1.1.1"/],
  ["text=x&geo=ip:203.0.113.09", /^geo is "ip:203.0.113.09"/],
  ["text=x&geo=ip:home", /^geo is "ip:home"/],
  ["text=x&geo=1,2,3", /^geo is/],
  [`text=${"x".repeat(8_001)}`, /^text has 8001 characters, at most 8000 are allowed/],
  [`text=x&tags=${"t".repeat(1_001)}`, /^tags has 1001 characters, at most 1000/],
  [`text=x&data=${"d".repeat(65_537)}`, /^data has 65537 characters, at most 65536/],
];
for (const [form, message] of FAULTS) {
  test(`bad information: ${form.slice(0, 40)}`, (t) => {
    const all = faults(form);
    t.is(all.length, 1);
    t.regex(all[0] ?? "", message);
  });
}

test("a character is a code point", (t) => {
  t.is(read(`text=${"😀".repeat(8_000)}`).kind, "valid");
  t.regex(faults(`text=${"😀".repeat(8_001)}`)[0] ?? "", /8001 characters/);
});

test("every fault is reported", (t) => {
  t.is(faults("value=x&geo=y").length, 3);
});

test("an error event lists the faults and keeps the posted form without its key", (t) => {
  const valid = errorEvent(
    "event",
    ["value is bad"],
    describeForm(withoutKeys(parseForm("apikey=secret&text=hello&value=x&value=z&__proto__=y"), new KeyMask("secret"))),
  );
  t.is(valid.text, "Bad event: value is bad");
  t.deepEqual(valid.tags, ["error", "bad-event"]);
  t.is(valid.source, "event-log");
  t.is(valid.data, '{"text":"hello","value":["x","z"],"__proto__":"y"}');
});

test("an error event keeps of a text beyond all limits what fits one record of the bus", async (t) => {
  const most_bytes = 900_000;
  for (const piece of ["plain text; ", 'a "quoted"\n\tline\u0001 ', "Überlauf ", "日本語", "x😀"]) {
    const posted = piece.repeat(Math.ceil(1_500_000 / piece.length));
    let kept = "";
    const hold_ms = await holdOfBest_ms(HOLD_LIMIT_MS, async () => void (kept = errorEvent("event", [], posted).data!));
    t.true(hold_ms < HOLD_LIMIT_MS, `the process was held for ${Math.round(hold_ms)} ms`);
    const beginning = kept.slice(0, -1);
    t.is(kept, `${beginning}…`);
    t.true(posted.startsWith(beginning), piece);
    const size_bytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
    t.true(size_bytes(beginning) <= most_bytes, piece);
    const next = String.fromCodePoint(posted.codePointAt(beginning.length)!);
    t.true(size_bytes(beginning + next) > most_bytes, piece);
    t.is(errorEvent("event", [], beginning).data, beginning);
  }
});

test("created is read as in a batch, with digits as milliseconds", (t) => {
  const created = (text: string) => {
    const result = read(`text=x&created=${encodeURIComponent(text)}`);
    return result.kind === "valid" ? result.created : result.faults.join("; ");
  };
  t.is(created(""), null);
  t.is(created(`${NOW_MS - 5}`), NOW_MS - 5);
  t.is(created(` ${NOW_MS} `), NOW_MS);
  t.is(created("2026-11-21T10:00:00+02:00"), Date.UTC(2026, 10, 21, 8));
  t.is(created("/Date(1795219200000)/"), 1_795_219_200_000);
  t.regex(String(created("soon")), /^created is "soon", a time such as/);
  t.regex(String(created("-1")), /before 1970/);
  t.regex(String(created("9".repeat(15))), /more than 5 minutes ahead/);
  t.regex(String(created("9".repeat(30))), /^created is 1e\+30, a time such as [^:]*:[^:]*:[^:]*is expected$/);
  t.regex(String(created("2026-10-01")), /older than the 30 days/);
  t.regex(String(created("2026-11-22T00:06Z")), /more than 5 minutes ahead/);
});
