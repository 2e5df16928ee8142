import test from "ava";
import fc from "fast-check";

import { JsonBytes, LIST, NOT_YET, OBJECT } from "../../src/json/json-bytes.ts";

/** Returns the end of the value at `start`, scanned in steps of some bytes. */
function endInSteps(json: JsonBytes, start: number, step_bytes: number): number {
  json.begin(start);
  for (;;) {
    const end = json.advance(json.position + step_bytes);
    if (end !== NOT_YET) return end;
  }
}

const TEXT = fc.string({ unit: fc.constantFrom('"', "\\", "{", "]", ",", ":", "ü", "😀", "\n", "x") });
const VALUE = fc.oneof(fc.jsonValue({ maxDepth: 4 }), TEXT, fc.array(TEXT), fc.dictionary(TEXT, fc.jsonValue()));

test("a value ends where it was written, however few bytes are scanned at a time", (t) => {
  fc.assert(
    fc.property(VALUE, fc.constantFrom(0, 2), fc.constantFrom("", ",", " ", "]", "}"), (value, indent, after) => {
      const written = Buffer.from(JSON.stringify(value, null, indent));
      const json = new JsonBytes(Buffer.concat([Buffer.from("[ "), written, Buffer.from(after)]));
      for (const step_bytes of [1, 2, 7, 1_000_000]) t.is(endInSteps(json, 2, step_bytes), 2 + written.length);
    }),
  );
});

test("members are found one by one, and then the end of their object or list", (t) => {
  const blank = fc.constantFrom("", " ", "\n\t\r ");
  fc.assert(
    fc.property(fc.array(fc.tuple(TEXT, VALUE)), blank, (given, between) => {
      const members = given.map(([name, value]) => [JSON.stringify(name), JSON.stringify(value)] as const);
      const [comma, colon] = [`${between},${between}`, `${between}:${between}`];

      const elements = `[${between}${members.map(([, value]) => value).join(comma)}${between}]`;
      const list = new JsonBytes(Buffer.from(`${elements}${between}`));
      const values: string[] = [];
      for (let at = list.firstOf(0); at !== -1;) {
        const end = endInSteps(list, at, 5);
        values.push(list.bytes.toString("utf8", at, end));
        at = list.nextOf(end);
      }
      t.deepEqual(
        values,
        members.map(([, value]) => value),
      );
      t.is(list.groupEnd, Buffer.byteLength(elements));
      t.notThrows(() => list.requireEnd(list.groupEnd));

      const pairs = `{${between}${members.map((member) => member.join(colon)).join(comma)}${between}}`;
      const object = new JsonBytes(Buffer.from(pairs));
      const read: (readonly [string, string])[] = [];
      for (let at = object.firstOf(0, OBJECT); at !== -1;) {
        const name_end = endInSteps(object, at, 5);
        const start = object.valueAfter(name_end);
        const end = endInSteps(object, start, 5);
        read.push([object.bytes.toString("utf8", at, name_end), object.bytes.toString("utf8", start, end)]);
        at = object.nextOf(end, OBJECT);
      }
      t.deepEqual(read, members);
      t.is(object.groupEnd, object.bytes.length);
    }),
  );
});

test("malformed JSON is named by what is wrong", (t) => {
  const scan = (text: string): number => endInSteps(new JsonBytes(Buffer.from(text)), 0, 3);
  for (const text of ["", '"a', '"a\\"', "[1,{}", '{"a":"]'])
    t.throws(() => scan(text), { instanceOf: SyntaxError, message: /ends within a value/ }, text);
  for (const text of [",1", "]", " 1", ":"]) t.throws(() => scan(text), { message: /a value is missing/ }, text);
  const json = new JsonBytes(Buffer.from("[1 2"));
  t.throws(() => json.firstOf(0, OBJECT), { message: /an object is expected/ });
  t.throws(() => json.firstOf(1), { message: /an array is expected/ });
  t.throws(() => json.nextOf(2, LIST), { message: /a comma is missing/ });
  t.throws(() => json.valueAfter(2), { message: /a colon is missing/ });
  t.throws(() => json.requireEnd(2), { message: /more data after its end/ });
  t.throws(() => new JsonBytes(Buffer.from("{1:2}")).firstOf(0, OBJECT), { message: /a name in quotes is expected/ });
  t.throws(() => new JsonBytes(Buffer.from('{"a":1,}')).nextOf(6, OBJECT), { message: /a name in quotes/ });
  t.throws(() => new JsonBytes(Buffer.alloc(70_000, " ")).skipBlank(0), { message: /too much white space/ });
});
