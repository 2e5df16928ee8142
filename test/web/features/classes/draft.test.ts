import test from "ava";

import type { ClassRecord } from "../../../../src/web/parts/api/types.ts";
import { readQuery } from "../../../../src/web/parts/query/compose.ts";
import {
  classCondition,
  constantPart,
  heavierThan,
  keyFor,
  newClassDraft,
} from "../../../../src/web/features/classes/draft.ts";

const record = (key: string, weight: number, color: string): ClassRecord => ({
  key,
  display: key,
  color,
  tag: "t",
  text: "",
  link: "",
  source: "",
  weight,
});
const CLASSES = [record("error", 50, "Tomato"), record("slow", 20, "orange")];

test("a new class takes no events from the others, and has a colour of its own", (t) => {
  const draft = newClassDraft(CLASSES);
  t.is(draft.weight, "10");
  t.deepEqual(heavierThan(draft, CLASSES), CLASSES);
  t.is(newClassDraft([record("ignored", 0, "gray")]).weight, "-10");
  t.is(newClassDraft([]).weight, "10");
  t.is(draft.color, "mediumvioletred");
});

test("keys are derived from names and are unique", (t) => {
  t.is(keyFor("Payment failed!", new Set()), "payment-failed");
  t.is(keyFor("Über Größe", new Set()), "uber-gro-e");
  t.is(keyFor("Slow", new Set(["slow", "slow-2", "slow-3"])), "slow-4");
  t.is(keyFor("日本", new Set()), "class");
  t.regex(keyFor("x".repeat(200), new Set()), /^[a-z0-9][a-z0-9-]{0,62}$/);
});

test("the longest constant part of a text becomes a condition", (t) => {
  t.is(
    constantPart("Payment <hex> declined: issuer did not answer within <n> ms"),
    "declined: issuer did not answer within",
  );
  t.is(constantPart("<n>"), "");
});

test("the conditions of a class are valid LQL", (t) => {
  const draft = { ...newClassDraft([]), tag: "it's", source: "web", text: "a", link: "b" };
  const condition = classCondition(draft)!;
  t.is(condition, "tag = 'it''s' AND source = 'web' AND text CONTAINS 'a' AND link CONTAINS 'b'");
  t.not(readQuery(`GET events WHERE ${condition}`), null);
  t.is(classCondition(newClassDraft([])), null);
});

test("classes of more weight keep their events", (t) => {
  const draft = { ...newClassDraft(CLASSES), weight: "20" };
  t.deepEqual(
    heavierThan(draft, CLASSES).map(({ key }) => key),
    ["error"],
  );
});
