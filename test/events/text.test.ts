import fc from "fast-check";
import test from "ava";
import { createHash } from "node:crypto";

import { hashText } from "../../src/events/hash.ts";
import { compareCodePoints, firstCharacters, fold, wellFormed } from "../../src/events/text.ts";

test("folding ignores case beyond ASCII", (t) => {
  t.is(fold("ÀΣΑΣ straße K ſ"), fold("àσας STRAßE k s"));
  t.is(fold("İ"), "İ");
});

test("folding is idempotent and works code point by code point", (t) => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      t.is(fold(fold(text)), fold(text));
      t.is([...fold(text)].length, [...text].length);
    }),
  );
  t.pass();
});

test("folding keeps the length of a text", (t) => {
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code);
    if (fold(character).length !== character.length) t.fail(`U+${code.toString(16)}`);
  }
  t.pass();
});

test("texts are ordered like their UTF-8 bytes", (t) => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
      t.is(Math.sign(compareCodePoints(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
  t.pass();
});

test("the first characters of a text are complete", (t) => {
  t.is(firstCharacters("a😀b", 2), "a😀");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(12), (text, count) => {
      t.is(firstCharacters(text, count), Array.from(text).slice(0, count).join(""));
    }),
  );
});

test("the hash is the first 16 bytes of SHA-256, in base64", (t) => {
  t.is(hashText("hello"), "LPJNul+wow4m6Dsqxbning==");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      t.is(hashText(text), createHash("sha256").update(text, "utf8").digest().subarray(0, 16).toString("base64"));
    }),
  );
});

test("lone surrogates become U+FFFD", (t) => {
  t.is(wellFormed("a\ud800b😀"), "a\ufffdb😀");
});
