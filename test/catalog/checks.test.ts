import test from "ava";

import type { ClassFilter } from "../../src/catalog/catalog.ts";
import { checkClassFilter, checkDisplay, checkRetentionDays, parseClassKey } from "../../src/catalog/checks.ts";

const FILTER: ClassFilter = {
  key: "errors",
  display: "Errors",
  color: "red",
  tag: "error",
  text: "",
  link: "",
  source: "",
  weight: 10,
};

test("the name of a log has 1 to 200 characters and is not blank", (t) => {
  t.is(checkDisplay("😀".repeat(200)), "😀".repeat(200));
  t.is(checkDisplay("a\ud800b"), "a\ufffdb", "what UTF-8 cannot say is replaced");
  for (const display of ["", "  ", "x".repeat(201), 7 as unknown as string]) {
    t.throws(() => checkDisplay(display), {
      code: "bad_parameter",
      message: /^The field display .*1 to 200 characters/,
    });
  }
});

test("events are kept for 1 to 36500 days, or for ever", (t) => {
  for (const days of [1, 36_500, null]) t.is(checkRetentionDays(days), days);
  for (const days of [0, 36_501, 1.5, -1, Number.NaN, "30" as unknown as number]) {
    t.throws(() => checkRetentionDays(days), {
      code: "bad_parameter",
      message: /^The field retentionDays .*1 to 36500, or null/,
    });
  }
});

test("keys of classes are returned in lower case", (t) => {
  t.is(parseClassKey("Slow-Queries2"), "slow-queries2");
  t.is(parseClassKey("a".repeat(63)), "a".repeat(63));
  for (const key of ["", "-a", "a".repeat(64), "a_b", "a/b", "ä"]) t.is(parseClassKey(key), null);
});

test("a class filter keeps its fields, and its key in lower case", (t) => {
  t.deepEqual(checkClassFilter({ ...FILTER, key: "Errors" }), FILTER);
  for (const field of ["tag", "text", "link", "source"] as const) {
    const alone = { ...FILTER, tag: "", [field]: "x".repeat(200) };
    t.deepEqual(checkClassFilter(alone), alone, `${field} alone is a condition`);
  }
  for (const weight of [-1_000_000, 0, 1_000_000]) t.is(checkClassFilter({ ...FILTER, weight }).weight, weight);
});

test("a fault of a class filter names the field and its valid values", (t) => {
  const faults: readonly (readonly [Partial<ClassFilter>, RegExp])[] = [
    [{ key: "-x" }, /^The field key must be 1 to 63 letters/],
    [{ display: "x".repeat(201) }, /^The field display must have at most 200 characters/],
    [{ color: "" }, /^The field color must have 1 to 40 characters/],
    [{ color: "x".repeat(41) }, /^The field color must have 1 to 40 characters/],
    [{ color: "red\u0007" }, /^The field color must have no control characters/],
    [{ tag: "two tags" }, /^The field tag must be one tag/],
    [{ tag: "x".repeat(201) }, /^The field tag must have at most 200 characters/],
    [{ text: "x".repeat(201) }, /^The field text must have at most 200 characters/],
    [{ link: "x".repeat(201) }, /^The field link must have at most 200 characters/],
    [{ source: "x".repeat(201) }, /^The field source must have at most 200 characters/],
    [{ source: null as unknown as string }, /^The field source must have at most 200 characters/],
    [{ weight: 0.5 }, /^The field weight must be a whole number from -1000000 to 1000000/],
    [{ weight: 1_000_001 }, /^The field weight must be/],
    [{ weight: "1" as unknown as number }, /^The field weight must be/],
    [{ tag: "" }, /at least one of tag, text, link and source/],
  ];
  for (const [change, message] of faults) {
    t.throws(() => checkClassFilter({ ...FILTER, ...change }), { code: "bad_parameter", message });
  }
});

test("all faults of a class filter are reported together", (t) => {
  const filter = { ...FILTER, key: "-x", color: "", tag: "", weight: 0.5 };
  t.throws(() => checkClassFilter(filter), {
    message: /^The field key .*; The field color .*; The field weight .*; A class filter needs a condition/,
  });
});
