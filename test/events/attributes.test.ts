import test from "ava";
import fc from "fast-check";

import {
  areAttributes,
  encodeAttributes,
  flatten,
  parseNumber,
  numberOfValue,
  lacksAttribute,
  parseAttributes,
  textsOfAttribute,
} from "../../src/events/attributes.ts";
import { busy_ms } from "../support/turns.ts";

const flat = (json: string): string => encodeAttributes(flatten(JSON.parse(json) as object).attributes);
const faultsOf = (json: string): readonly string[] => flatten(JSON.parse(json) as object).faults;

const FLATTENED: readonly (readonly [posted: string, flat: string])[] = [
  ['{"http":{"status":500,"path":"/a"},"ok":true}', '{"http.path":"/a","http.status":500,"ok":true}'],
  ['{"codes":[1,"2",false],"one":[7]}', '{"codes":[1,"2",false],"one":[7]}'],
  ['{"a":null,"b":[],"c":{},"d":[null],"e":[null,1]}', '{"e":[1]}'],
  ['{"a.b":1,"a":{"b":2}}', '{"a.b":[1,2]}'],
  ['{"a":{"b":[1]},"a.b":[2,3]}', '{"a.b":[1,2,3]}'],
  ['{"b":1,"10":1,"2":1,"__proto__":1,"😀":1,"ﬀ":1}', '{"10":1,"2":1,"__proto__":1,"b":1,"ﬀ":1,"😀":1}'],
  ['{"A":1,"a":2}', '{"A":1,"a":2}'],
  ['{"n":-0,"e":1e21,"f":0.1}', '{"e":1e+21,"f":0.1,"n":0}'],
  ['{"x":"\\ud800","\\udc00":1}', '{"x":"\ufffd","\ufffd":1}'],
  ['{"":{"a":1},"b":{"":2}}', '{".a":1,"b.":2}'],
];
for (const [posted, expected] of FLATTENED) {
  test(`${posted} becomes ${expected}`, (t) => t.is(flat(posted), expected));
}

test("a non-scalar within an array is a fault, as is a number out of range", (t) => {
  t.regex(faultsOf('{"list":[{"a":1}]}')[0]!, /attribute "list" holds values other than strings/);
  t.regex(faultsOf('{"list":[[1]]}')[0]!, /attribute "list" holds values other than strings/);
  t.regex(faultsOf('{"n":1e999}')[0]!, /attribute "n" holds a number beyond 1[.]797/);
  t.is(faultsOf(`{${Array.from({ length: 900 }, (_, i) => `"${i}":[[]]`).join(",")}}`).length, 3);
});

test("within its limits, flattening visits a bounded part of its input, however deep", (t) => {
  const bounds = { names: 256, nameUnits: 400 };
  const deep = JSON.parse(`${'{"a":'.repeat(300_000)}1${"}".repeat(300_000)}`) as object;
  t.regex(flatten(deep, bounds).faults[0]!, /is too long/);
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`name${i}`, 1]));
  t.is(flatten(many, bounds).attributes.size, 257);
});

test("values of one name are collected in linear time, however many ways lead to it", (t) => {
  const waysTo = (segments: number): object =>
    Object.fromEntries(
      Array.from({ length: segments }, (_, i) => {
        const name = Array.from({ length: i + 1 }, () => "a").join(".");
        return [name, i === segments - 1 ? 1 : waysTo(segments - i - 1)];
      }),
    );
  const object = waysTo(16);
  const start_ms = busy_ms();
  const { attributes } = flatten(object);
  t.true(busy_ms() - start_ms < 300);
  t.is((attributes.get("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a") as number[]).length, 2 ** 15);
});

const SCALAR = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
);
const ATTRIBUTES = fc
  .uniqueArray(
    fc.tuple(
      fc.oneof(fc.constantFrom("__proto__", "1", "10", "constructor"), fc.string({ unit: "binary", maxLength: 4 })),
      fc.oneof(SCALAR, fc.array(SCALAR, { minLength: 1, maxLength: 3 })),
    ),
    { selector: ([name]) => name, maxLength: 6 },
  )
  .map((pairs) => new Map(pairs));

test("attributes are parsed from their text unchanged", (t) => {
  fc.assert(
    fc.property(ATTRIBUTES, (attributes) => {
      const text = encodeAttributes(attributes);
      const read = parseAttributes(text);
      t.is(encodeAttributes(read), text);
      t.is(read.size, attributes.size);
      t.is(areAttributes(text), read.size > 0);
      t.deepEqual([...read.keys()], [...parseAttributes(encodeAttributes(read)).keys()]);
    }),
  );
  t.is(parseAttributes(null).size, 0);
});

test("an attribute that a text lacks is found out without parsing it", (t) => {
  fc.assert(
    fc.property(ATTRIBUTES, fc.string(), (attributes, name) => {
      const text = encodeAttributes(attributes);
      for (const each of [...attributes.keys(), name]) {
        if (lacksAttribute(text, each)) t.false(attributes.has(each));
      }
    }),
  );
  t.true(lacksAttribute('{"ab":"a"}', "b"));
  t.false(lacksAttribute('{"\\u0062":1}', "b"), "another encoder's escape");
});

test("a text that validation would not write is not parsed as attributes", (t) => {
  for (const text of ["", "null", "[]", "{}", '"a"', '{"a":null}', '{"a":[]}', '{"a":{"b":1}}', '{"a":[[1]]}', "{"]) {
    t.false(areAttributes(text), text);
  }
  t.false(areAttributes('{"a":"\\ud800"}'));
  t.false(areAttributes('{"\\ud800":1}'));
  t.false(areAttributes('{"a":1e999}'));
});

test("each value has a text, and some a number", (t) => {
  const attributes = parseAttributes('{"a":[1.50,"007",true,""],"b":"x"}');
  t.deepEqual(textsOfAttribute(attributes, "a"), ["1.5", "007", "true", ""]);
  t.deepEqual(textsOfAttribute(attributes, "b"), ["x"]);
  t.deepEqual(textsOfAttribute(attributes, "c"), []);
  t.is(numberOfValue(1e21), 1e21);
  t.is(numberOfValue(true), null);
  const numbers = [
    ["007", 7],
    ["+4.25", 4.25],
    [".5", 0.5],
    ["5.", 5],
    [" -3\n", -3],
  ] as const;
  for (const [text, number] of numbers) t.is(parseNumber(text), number);
  for (const text of ["", " ", "1e3", "0x1", "1_000", "NaN", "Infinity", "1,5", "--1", "9".repeat(400)]) {
    t.is(parseNumber(text), null, text);
  }
});
