import test from "ava";
import fc from "fast-check";

import type { LineFields } from "../../src/events/line-fields.ts";
import { LineScanner } from "../../src/events/line-scanner.ts";

/**
 * Returns the scanner's result for each line: its fields, or null if it leaves the line to
 * `JSON.parse`.
 */
function scan(bytes: Buffer, from?: number) {
  const scanner = new LineScanner(bytes, from);
  const lines = [];
  while (scanner.hasNext) {
    const fields = scanner.next() ? said(scanner.fields) : null;
    const { text } = scanner;
    const isPlain = fields !== null && scanner.isPlain;
    lines.push({ fields, text, isPlain, rest: isPlain ? scanner.withoutCreated : "" });
  }
  return lines;
}

function said({ attributes, ...fields }: LineFields): Record<string, unknown> {
  const read = typeof attributes === "string" ? parsed(attributes) : attributes;
  return Object.fromEntries(Object.entries({ ...fields, attributes: read }).filter(([, value]) => value !== undefined));
}

const NO_JSON = Symbol("no JSON");

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return NO_JSON;
  }
}

const TEXT = fc.oneof(
  fc.constantFrom(
    "",
    "a",
    "timeout after 755 ms",
    "a b",
    "\u007f",
    "Grüße",
    "日本",
    "🎉",
    '"',
    "\\",
    "a\n",
    "\ud800",
    "null",
    "}",
  ),
  fc.string({ unit: "binary", maxLength: 12 }),
);
const NUMBER = fc.oneof(
  fc.constantFrom(
    0,
    -0,
    1,
    -1,
    0.1,
    553.44,
    1789949188799,
    123456789012345,
    1234567890123456,
    1e21,
    1e-7,
    999999.999999999,
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
);
/** A usual value, and sometimes any JSON value. */
function mostly<T>(usual: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  const odd = fc.oneof(TEXT, NUMBER, fc.constant(null), fc.boolean(), fc.array(TEXT, { maxLength: 2 }));
  return fc.oneof({ arbitrary: usual, weight: 20 }, { arbitrary: odd, weight: 1 });
}
const SCALAR = fc.oneof(TEXT, NUMBER, fc.boolean(), fc.array(TEXT, { maxLength: 2 }));
const ATTRIBUTES = fc.dictionary(TEXT, fc.oneof(SCALAR, fc.dictionary(TEXT, SCALAR, { maxKeys: 2 })), { maxKeys: 3 });
const FIELDS = fc.record(
  {
    id: mostly(TEXT),
    created: mostly(NUMBER),
    text: mostly(TEXT),
    link: mostly(TEXT),
    tags: mostly(fc.array(TEXT, { maxLength: 3 })),
    source: mostly(TEXT),
    user: mostly(TEXT),
    value: mostly(NUMBER),
    geo: mostly(fc.oneof(fc.record({ lat: NUMBER, lon: NUMBER }), fc.record({ ip: TEXT }))),
    data: mostly(TEXT),
    attributes: mostly(ATTRIBUTES),
  },
  { requiredKeys: [] },
);
const BLANKS = fc.oneof(
  { arbitrary: fc.constantFrom("", " "), weight: 20 },
  { arbitrary: fc.constantFrom("  ", "\t"), weight: 1 },
);
const SELDOM = fc.nat({ max: 20 }).map((n) => n === 0);

/**
 * The fields as JSON in random order, with blanks at some places, and sometimes one field twice.
 */
const LINE = fc
  .record({
    fields: FIELDS,
    order: fc.infiniteStream(fc.nat()),
    comma: BLANKS,
    colon: BLANKS,
    twice: SELDOM,
    end: fc.constantFrom("", "", "", "\r", " ", "x"),
  })
  .map(({ fields, order, comma, colon, twice, end }) => {
    const parts = Object.entries(fields).map(([name, value]) => `"${name}":${colon}${JSON.stringify(value)}`);
    const shuffled = parts.map((part) => [order.next().value!, part] as const).toSorted(([a], [b]) => a - b);
    const all = shuffled.map(([, part]) => part);
    return `{${(twice ? [...all, ...all.slice(0, 1)] : all).join(`,${comma}`)}}${end}`;
  });

test("every line that the scanner reads equals JSON.parse's, for any bytes", (t) => {
  const BODY = fc.record({
    lines: fc.array(LINE, { minLength: 1, maxLength: 4 }),
    spoilt: fc.oneof(
      fc.constant([]),
      fc.array(fc.record({ at: fc.nat(), byte: fc.nat({ max: 255 }) }), { minLength: 1, maxLength: 2 }),
    ),
  });
  let read = 0;
  fc.assert(
    fc.property(BODY, ({ lines, spoilt }) => {
      const bytes = Buffer.from(lines.join("\n"));
      for (const { at, byte } of spoilt) bytes[at % bytes.length] = byte;
      const expected = bytes.toString("utf8").split("\n");
      const scanned = scan(bytes);
      t.is(scanned.length, expected.length);
      for (const [i, { fields, text, isPlain, rest }] of scanned.entries()) {
        if (fields === null) {
          t.is(text, expected[i]!);
          continue;
        }
        read += 1;
        if (fields["attributes"] === NO_JSON) {
          t.is(parsed(expected[i]!), NO_JSON);
          continue;
        }
        const { created, ...others } = JSON.parse(expected[i]!) as Record<string, unknown>;
        t.deepEqual(fields, created === undefined ? others : { ...others, created });
        if (!isPlain) continue;
        // Without another field the rest is the end of the object.
        const whole = rest === "}" ? '{"first":1}' : `{"first":1,${rest}`;
        t.deepEqual(JSON.parse(whole), { first: 1, ...others });
      }
    }),
    { numRuns: 3_000 },
  );
  t.true(read > 500, `${read} lines were read`);
});

const READ: readonly string[] = [
  '{"created":1789949188799,"text":"timeout after 755 ms","link":"","tags":["cache","host-1"],"source":"web-38","user":"user-1","value":553.44}',
  '{"text": "as Python writes it", "tags": ["a", "b"], "value": -0.5, "created": 1}',
  '{"text":"Grüße","tags":[],"data":"{\\"a\\":1}\\n","geo":{"lat":1.5,"lon":-2},"value":null}',
  '{"id":"6ab1f2c312300000deadbeef","created":"2026-11-22T21:00:00Z","value":"12.5","tags":"a b","geo":"1,2"}',
  '{"text":"of another system"}\r',
  '{"attributes":{"http":{"status":500,"path":"/\\"}\\""},"codes":[1,2]},"text":"x"}',
];
for (const line of READ) {
  test(`the scanner reads ${line}`, (t) => {
    for (const bytes of [line, `${line}\n`, `first\n${line}\nlast`]) {
      const found = scan(Buffer.from(bytes)).find(({ fields }) => fields !== null);
      t.deepEqual(found?.fields, JSON.parse(line) as Record<string, unknown>);
    }
    t.deepEqual(scan(Buffer.from(`12345${line}`), 5)[0]?.fields, JSON.parse(line) as Record<string, unknown>);
  });
}

for (const [line, why] of [
  ['{"text":"a","other":1}', "a field that no event has"],
  ['{"text":"a","text":"b"}', "a field twice"],
  ['{"textual":"a"}', "a longer name"],
  ['{"created_at":1}', "a name that begins as another"],
  ['{"text":"a","value":1e3}', "an exponent"],
  ['{"text":"a","value":1234567890123456}', "more digits than are sure"],
  ['{"text":"a","value":-0}', "minus nothing"],
  ['{"text":"a","value":01}', "no JSON: a number that begins with nothing"],
  ['{"text":"a","value":1.}', "no JSON: a point with nothing behind it"],
  ['{"text":true}', "true"],
  ['{"text":"a"}{"text":"b"}', "two in a line"],
  ['{"text":"a\u0001"}', "no JSON: a control character"],
  ['{"text":"\\x"}', "no JSON: no such escape"],
  ['{"text":"a"', "no JSON: no end"],
  ['{"text":"a', "no JSON: no end of a text"],
  ['{"text":"a\\', "no JSON: no end of an escape"],
  [`{"text":"${"a".repeat(500)}"}`, "a long text"],
  [`{"tags":["a"${',"a"'.repeat(200)}]}`, "many tags"],
  ["{}", "nothing"],
  ["", "an empty line"],
] as const) {
  test(`the scanner leaves a line to JSON.parse: ${why}`, (t) => {
    t.deepEqual(
      scan(Buffer.from(line)).map(({ fields, text }) => [fields, text]),
      [[null, line]],
    );
  });
}

for (const open of ['{"text":"a\\', '{"text":"a', '{"geo":{"lat":1', '{"tags":["a"']) {
  test(`a line is never read into the next one: ${open}`, (t) => {
    const [broken, whole] = scan(Buffer.from(`${open}\n{"text":"b","geo":{"lat":1,"lon":2},"tags":["a"]}`));
    t.is(broken?.fields, null);
    t.is(broken?.text, open);
    t.deepEqual(whole?.fields, { text: "b", geo: { lat: 1, lon: 2 }, tags: ["a"] });
  });
}

test("the rest of a plain line is the line without its moment, wherever that is", (t) => {
  for (const [line, rest] of [
    ['{"created":5,"text":"a"}', '"text":"a"}'],
    ['{"text":"a","created":5}', '"text":"a"}'],
    ['{"text":"a", "created": 5, "user":"b"}', '"text":"a", "user":"b"}'],
    ['{"text":"a","user":"b"}', '"text":"a","user":"b"}'],
    ['{"created":5}', "}"],
  ] as const) {
    const [read] = scan(Buffer.from(line));
    t.is(read?.rest, rest);
  }
});

test("a line is plain only if its bytes can be used anywhere unchanged", (t) => {
  const plain = (line: string): boolean | undefined => scan(Buffer.from(line))[0]?.isPlain;
  t.true(plain('{"text":"a","tags":["b"],"value":1,"created":2}'));
  for (const odd of [
    '"text":"ä"',
    '"text":"\\u0041"',
    '"tags":"a b"',
    '"tags":["ä"]',
    '"value":"1"',
    '"geo":{"lat":1,"lon":2}',
    '"user":null',
  ]) {
    t.false(plain(`{"link":"a",${odd}}`), odd);
  }
});

test("lines are read the same, however many there are and wherever a chunk ends", (t) => {
  const lines = Array.from({ length: 3_000 }, (_, i) => {
    const tags = Array.from({ length: i % 97 }, (_, n) => `tag-${n}`);
    return JSON.stringify({ created: i, text: `number ${i} ${"x".repeat(i % 301)}`, tags, user: `user-${i}` });
  });
  const scanned = scan(Buffer.from(lines.join("\n")));
  t.is(scanned.length, lines.length);
  for (const [i, { fields, rest }] of scanned.entries()) {
    const { created, ...others } = JSON.parse(lines[i]!) as Record<string, unknown>;
    t.deepEqual(fields, { ...others, created });
    t.deepEqual(JSON.parse(`{${rest}`), others);
  }
});
