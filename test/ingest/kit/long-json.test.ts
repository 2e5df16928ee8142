import test from "ava";
import fc from "fast-check";

import { LoggiaError } from "../../../src/errors.ts";
import { parseExactly } from "../../../src/ingest/kit/json.ts";
import { JsonScanner } from "../../../src/ingest/kit/json-scanner.ts";
import { KEPT_BYTES, readOnly, readValue } from "../../../src/ingest/kit/long-json.ts";
import type { LongValue } from "../../../src/ingest/kit/long-json.ts";
import { PENDING } from "../../../src/ingest/kit/steps.ts";

/** Runs a generator; returns its result and the number of pauses. */
function run<T>(steps: Generator<unknown, T>): { value: T; pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const next = steps.next();
    if (next.done === true) return { value: next.value, pauses };
    if (next.value !== PENDING) throw new Error("only pauses are expected");
  }
}

function readWhole(text: string): { value: LongValue; pauses: number } {
  return run(readOnly(Buffer.from(text)));
}

test("values equal those of JSON.parse, element by element, with any white space between", (t) => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), fc.constantFrom(0, 1, 3), (values, indent) => {
      const bytes = Buffer.from(JSON.stringify(values, null, indent));
      const scanner = new JsonScanner(bytes);
      const read: unknown[] = [];
      for (let at = scanner.firstOf(0); at !== -1;) {
        const { value } = run(readValue(scanner, at));
        read.push(value.value);
        at = scanner.nextOf(value.end);
      }
      t.deepEqual(read, parseExactly(bytes.toString()));
    }),
  );
});

test("an integer beyond double precision is read as text, by itself and within a list", (t) => {
  t.deepEqual(parseExactly("[180000000000000000000,-9007199254740993]"), [
    "180000000000000000000",
    "-9007199254740993",
  ]);
  t.is(parseExactly("180000000000000000000"), "180000000000000000000");
  t.is(parseExactly("-9007199254740993"), "-9007199254740993");
});

test("members are found by name, the last of two with the same one, and null members are absent", (t) => {
  const text = `{"a" : {"b":[1,"]}"]}, "x\\"y":"{", "b":1, "c": null, "b":[2] }`;
  const bytes = Buffer.from(text);
  const { value } = run(new JsonScanner(bytes).membersOf(0, ["a", "b", "c", "d"]));
  t.deepEqual(value, { starts: { a: text.indexOf('{"b"'), b: text.lastIndexOf("[2]") }, end: text.length });
  t.deepEqual(run(new JsonScanner(Buffer.from("{ }")).membersOf(0, [])).value, { starts: {}, end: 3 });
});

test("malformed JSON is refused, also if truncated anywhere", (t) => {
  const whole = `{"a":[1,2,{"b":"c\\"d"}],"e":true}`;
  for (let end = 1; end < whole.length; end++) {
    t.throws(() => readWhole(whole.slice(0, end)), { instanceOf: LoggiaError }, whole.slice(0, end));
  }
  for (const text of ["", "{,}", '{"a" 1}', "[1 2]", "[1,]", "]", ",", '{"a":1}x', `[${" ".repeat(70_000)}1,2]x`]) {
    t.throws(() => readWhole(text), { instanceOf: LoggiaError }, text.slice(0, 20));
  }
  const pad = `"pad":"${"x".repeat(KEPT_BYTES)}"`;
  for (const text of [
    `{${pad},}`,
    `{${pad} 1}`,
    `{${pad},"a"}`,
    `{${pad},"a":}`,
    `{${pad}`,
    `[{${pad}}`,
    `{${pad},1:2}`,
  ]) {
    t.throws(() => readWhole(text), { instanceOf: LoggiaError }, text.slice(-12));
  }
});

test("a long value is cut to the limit, and the kept part is unchanged", (t) => {
  const text = "é\\n😀".repeat(300_000);
  const value = {
    first: 1,
    long: text,
    list: Array.from({ length: 50_000 }, (_, i) => `n${i}`),
    last: { deep: "end" },
  };
  const { value: read, pauses } = readWhole(JSON.stringify(value));
  t.true(read.isCut);
  t.true(pauses > 50, `${pauses} pauses`);
  const kept = read.value as typeof value;
  t.is(kept.first, 1);
  t.deepEqual(kept.last, { deep: "end" });
  t.true(kept.long.length > 20_000 && kept.long.length < text.length);
  t.true(text.startsWith(kept.long), "neither an escape nor a character is cut in two");
  t.true(kept.list.length > 1_000 && kept.list.length < 50_000);
  t.deepEqual(kept.list, value.list.slice(0, kept.list.length));
});

test("long values of every shape are read in bounded steps and memory", (t) => {
  const size = 2 * 1024 * 1024;
  const shapes = {
    wide: `{${Array.from({ length: size / 16 }, (_, i) => `"name${i}":"v"`).join(",")}}`,
    empties: `[${"{},".repeat(size / 3)}{}]`,
    lists: `[${"[],".repeat(size / 3)}[]]`,
    deep: "[".repeat(size / 2) + "]".repeat(size / 2),
    deepObjects: `${'{"a":'.repeat(size / 6)}1${"}".repeat(size / 6)}`,
    quotes: `"${'\\"'.repeat(size / 2)}"`,
    backslashes: `["${"\\\\".repeat(size / 2)}"]`,
    escapes: `["${"\\u00e9".repeat(size / 6)}"]`,
    longNames: `{"${"x".repeat(size)}":1,"b":2}`,
    longNumber: `{"a":${"1".repeat(size)},"b":2}`,
    bytes: `["${"é".repeat(size / 2)}"]`,
    nested: `{${Array.from({ length: 1_000 }, (_, i) => `"a${i}":{"b":["${"x".repeat(2_000)}"]}`).join(",")}}`,
  };
  for (const [name, text] of Object.entries(shapes)) {
    const { value, pauses } = readWhole(text);
    t.true(value.isCut, name);
    t.true(pauses >= text.length / 20_000, `${name}: ${pauses} pauses`);
    t.true(JSON.stringify(value.value).length < 1.2 * KEPT_BYTES, name);
  }
  t.like(readWhole(shapes.longNames).value.value, { b: 2 });
  t.like(readWhole(shapes.longNumber).value.value, { b: 2 });
});

test("a text is cut at the end of a character, wherever that is", (t) => {
  for (const unit of ["x", "é", "€", "😀", "\\n", "\\u00e9"]) {
    for (let shift = 0; shift < 6; shift++) {
      const inner = "y".repeat(shift) + unit.repeat(Math.ceil((KEPT_BYTES + 10) / Buffer.byteLength(unit)));
      const { value } = readWhole(`"${inner}"`).value as { value: string };
      const whole = JSON.parse(`"${inner}"`) as string;
      t.true(whole.startsWith(value) && value.isWellFormed(), `${unit} ${shift}`);
      t.true(Buffer.byteLength(JSON.stringify(value)) > 40_000);
    }
  }
});

test("a text that is shortened is cut between characters, also between escapes", (t) => {
  for (const character of ["\u{1f600}", "\\ud83d\\ude00", "é", "\\u00e9"]) {
    for (let shift = 0; shift < 13; shift++) {
      const value = readWhole(`"${"x".repeat(shift)}${character.repeat(300_000)}"`).value.value as string;
      t.true(value.isWellFormed() && !value.includes("\ufffd"), `${character} ${shift}`);
    }
  }
});
