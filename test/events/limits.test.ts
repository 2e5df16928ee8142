import test from "ava";

import {
  attributeTerm_bytes,
  DEFAULT_LIMITS,
  HIGHEST_LIMITS,
  largestForm_bytes,
  TERM_MAX_BYTES,
} from "../../src/events/limits.ts";
import type { FieldLimits } from "../../src/events/limits.ts";
import { textPattern } from "../../src/events/pattern.ts";
import { fold } from "../../src/events/text.ts";

test("no default is above what the engines hold", (t) => {
  for (const [name, limit] of Object.entries(DEFAULT_LIMITS))
    t.true(limit <= HIGHEST_LIMITS[name as keyof FieldLimits], name);
  t.true(attributeTerm_bytes(DEFAULT_LIMITS) <= TERM_MAX_BYTES);
});

test("a text of any characters, its folded form and its pattern are one term each", (t) => {
  const units = ["\u{1f600}", "\u0130", "\u00df", "\ufdfa", "\u023a", "1", "1\u{1f600}", "\u20ac1", '""', "::", "a::"];
  for (const unit of units) {
    const text = unit.repeat(HIGHEST_LIMITS.text / [...unit].length);
    for (const term of [text, fold(text), textPattern(text), fold(textPattern(text))])
      t.true(Buffer.byteLength(term) <= TERM_MAX_BYTES, `${unit}: ${Buffer.byteLength(term)}`);
  }
});

test("folding a character of up to three bytes never takes more", (t) => {
  // The others have four bytes, as many as any character has.
  for (let code = 0; code <= 0xffff; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    if (Buffer.byteLength(fold(String.fromCodePoint(code))) > 3) return t.fail(code.toString(16));
  }
  t.pass();
});

test("a form with all fields at their limits is within its bound, percent-encoded", (t) => {
  const fill = (name: keyof FieldLimits): string => "\u{1f600}".repeat(DEFAULT_LIMITS[name]);
  const form = new URLSearchParams({ apikey: "k".repeat(200) });
  for (const name of ["text", "link", "source", "user", "tags", "value", "geo", "data"] as const)
    form.set(name, fill(name));
  const length = DEFAULT_LIMITS.attributesBytes / 3 / 200;
  for (let i = 0; i < 200; i++) form.set(`attr.${String(i).padStart(5, "0")}`, "\u20ac".repeat(Math.floor(length) - 2));
  t.true(Buffer.byteLength(form.toString()) <= largestForm_bytes(DEFAULT_LIMITS));
  t.is(largestForm_bytes({ ...DEFAULT_LIMITS, data: 1, text: 1, link: 1, tags: 1, attributesBytes: 1 }), 128 * 1024);
});
