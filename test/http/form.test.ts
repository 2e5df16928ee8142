import test from "ava";
import * as fc from "fast-check";

import { parseForm } from "../../src/http/form.ts";

for (const [form, expected] of [
  ["", []],
  ["text=hello", [["text", "hello"]]],
  ["text=hello+world&tags=a%20b", [["text", "hello world"], ["tags", "a b"]]], // prettier-ignore
  ["text=hello world", [["text", "hello world"]]],
  ["a=1&&b=2&", [["a", "1"], ["b", "2"]]], // prettier-ignore
  ["&&&", []],
  ["text", [["text", ""]]],
  ["text=a=b", [["text", "a=b"]]],
  ["text=caf%C3%A9", [["text", "café"]]],
  ["text=caf%E9", [["text", "caf\ufffd"]]],
  ["text=100%", [["text", "100%"]]],
  ["text=%zz%4", [["text", "%zz%4"]]],
  ["?text=a", [["?text", "a"]]],
  ["text=line\r\nbreak", [["text", "line\r\nbreak"]]],
] as [string, [string, string][]][]) {
  test(`${JSON.stringify(form)} is read leniently`, (t) => {
    t.deepEqual([...parseForm(form)], expected);
  });
}

test("the first value of a repeated field counts", (t) => {
  t.is(parseForm("text=first&text=second").get("text"), "first");
});

test("bytes that are not UTF-8 become U+FFFD", (t) => {
  t.is(parseForm(Buffer.from([0x74, 0x3d, 0x61, 0xff, 0x62])).get("t"), "a\ufffdb");
  t.is(parseForm(Buffer.from("t=né", "latin1")).get("t"), "n\ufffd");
});

test("no field name has a special meaning", (t) => {
  const form = parseForm("__proto__=x&constructor=y&hasOwnProperty=z&toString=w");
  t.deepEqual([form.get("__proto__"), form.get("constructor"), form.get("toString")], ["x", "y", "w"]);
  t.is(({} as Record<string, unknown>)["x"], undefined);
  t.is(parseForm("a=1").get("__proto__"), null);
});

test("the encoding of a browser is decoded, and no input throws", (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.string({ unit: "binary" }),
      fc.uint8Array(),
      (name, value, bytes) => {
        const encoded = new URLSearchParams([["x", ""], [name, value]]).toString(); // prettier-ignore
        t.is(parseForm(encoded).get(name), name === "x" ? "" : value.toWellFormed());
        parseForm(Buffer.from(bytes));
      },
    ),
  );
});
