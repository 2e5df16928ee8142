import test from "ava";

import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { readAttributes } from "../../../src/ingest/posting/attributes.ts";
import { readBatch } from "../../../src/ingest/posting/batch.ts";
import type { BatchForm } from "../../../src/ingest/posting/batch.ts";
import { validateEvent } from "../../../src/ingest/posting/validated-event.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const RANGE = { read_ms: 0, trusted_ms: 0, retentionDays: null };

function read(given: unknown, limits: Partial<typeof DEFAULT_LIMITS> = {}) {
  const faults: string[] = [];
  const attributes = readAttributes(given, { ...DEFAULT_LIMITS, ...limits }, faults);
  return { attributes, faults };
}

/** Returns the attributes of a form, or its faults. */
function ofForm(form: string): string | null | readonly string[] {
  const result = validateEvent(new URLSearchParams(`text=x&${form}`), DEFAULT_LIMITS, () => RANGE);
  return result.kind === "valid" ? result.valid.attributes : result.faults;
}

const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i]));

test("limits hold exactly, in characters and in bytes", (t) => {
  t.deepEqual(read(named(256)).faults, []);
  t.deepEqual(read(named(257)).faults, ["there are more attributes than the 256 allowed"]);
  t.deepEqual(read({ ["😀".repeat(200)]: 1, ["é".repeat(200)]: "😀".repeat(7_500) }).faults, []);
  t.regex(
    read({ a: { ["n".repeat(199)]: 1 } }).faults[0]!,
    /^the name of attribute "a\.n+…" has 201 characters, at most 200/,
  );
  t.deepEqual(read({ a: "v".repeat(7_501) }).faults, ['attribute "a" has 7501 characters, at most 7500 are allowed']);
  t.regex(read({ a: ["b", "v".repeat(7_501)] }).faults[0]!, /at most 7500/);
  // Names and values, in UTF-8.
  const filled = (rest: number) =>
    Object.fromEntries([...Array.from({ length: 8 }, (_, i) => [`n${i}`, "é".repeat(4_000)]), ["z", "v".repeat(rest)]]);
  t.deepEqual(read(filled(65_536 - 8 * 8_002 - 1)).faults, []);
  t.deepEqual(read(filled(65_536 - 8 * 8_002)).faults, [
    "attributes have 65537 bytes in all, at most 65536 are allowed",
  ]);
  t.regex(read({ a: Array.from({ length: 70_000 }, () => "") }).faults[0]!, /have 70001 bytes/);
  t.deepEqual(read({ a: 1 }, { attributes: 1, attributeName: 1, attributeValue: 1, attributesBytes: 2 }).faults, []);
});

test("each exceeded limit is one fault, however often it is exceeded", (t) => {
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`${"n".repeat(200)}${i}`, "v".repeat(8_000)]));
  t.is(read(many).faults.length, 4);
});

test("a form has attributes as JSON, as pairs, or both", (t) => {
  t.is(ofForm("attr.a=1&attr.b=&attr.c.d=x+y"), '{"a":"1","b":"","c.d":"x y"}');
  t.is(ofForm("attributes=%7B%22a%22:1%7D&attr.a=2"), '{"a":[1,"2"]}');
  t.is(ofForm("attr.a=1&attr.a=2"), '{"a":"1"}', "the first of a repeated field counts");
  t.is(ofForm("attributes=&attribute.a=1"), null);
  t.is(ofForm("attributes=%7B%7D"), null);
  t.is(ofForm("attr.__proto__=1&attr.%F0%9F%98%80=2"), '{"__proto__":"1","😀":"2"}');
  const pairs = Array.from({ length: 257 }, (_, i) => `attr.a${i}=1`).join("&");
  t.deepEqual(ofForm(pairs), ["there are more attributes than the 256 allowed"]);
  t.deepEqual(ofForm("attr.=1"), ["an attribute has no name"]);
  t.is(ofForm("attributes=null"), null, "as in a batch");
  t.is(ofForm("attributes=+null+&attr.a=1"), '{"a":"1"}');
  for (const json of ["[]", "1", '"a"', "{", "%7B'a':1%7D"]) {
    t.regex((ofForm(`attributes=${json}`) as string[])[0]!, /^attributes is ".*a JSON object such as/, json);
  }
});

test("a number outside the range of a double is reported as one", (t) => {
  for (const json of ['{"big":1e400}', '{"big":[1,-1e400]}', '{"big":[[1],1e400]}']) {
    t.deepEqual(read(JSON.parse(json)).faults, ['attribute "big" holds a number beyond 1.7976931348623157e+308'], json);
  }
  t.deepEqual(read({ list: [[1]] }).faults, ['attribute "list" holds values other than strings, numbers and booleans']);
});

test("attributes nested too deeply for the call stack make a bad event and nothing worse", async (t) => {
  const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  const events = [
    `{"text":"attributes","attributes":${deep(200_000)}}`,
    `{"text":"","other":${deep(200_000)}}`,
    `${"[".repeat(200_000)}${"]".repeat(200_000)}`,
    '{"text":"good"}',
  ];
  for (const [form, body] of [
    ["lines", events.join("\n")],
    ["array", `[${events.join(",")}]`],
  ] as const satisfies readonly (readonly [BatchForm, string])[]) {
    const bytes = Buffer.from(body);
    const batch = await readBatch(
      form,
      { body: bytes, sent_bytes: bytes.length },
      { limits: DEFAULT_LIMITS, range: RANGE, secret: "", scheduler: new Scheduler() },
    );
    t.like(batch, { accepted: 1, rejected: 3 });
    t.regex(batch.items[0]!.fault!, /attributes are too many or too long to be read/);
  }
});
