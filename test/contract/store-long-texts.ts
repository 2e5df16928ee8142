import test from "ava";

import { attributeTerm_bytes, DEFAULT_LIMITS, TERM_MAX_BYTES } from "../../src/events/limits.ts";
import { textPattern } from "../../src/events/pattern.ts";
import { compareCodePoints, fold } from "../../src/events/text.ts";
import type { AttributeField, Condition } from "../../src/query/plan.ts";
import { event, groupPlan, listPlan, MORNING, newLog, texts, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

const { text: TEXT, link: LINK, attributeName: NAME, attributeValue: VALUE } = DEFAULT_LIMITS;

/** Returns a text of this many characters, which repeats a part up to an end. */
function filled(characters: number, part: string, end: string): string {
  const count = characters - [...end].length;
  return [...part.repeat(count)].slice(0, count).join("") + end;
}

/**
 * Texts at their limit: of characters with four bytes, of such that fold to several or to longer
 * ones, and of parts whose pattern is longer.
 */
const LONGEST = [
  filled(TEXT, "\u{1f600}", "a needle"),
  filled(TEXT, "\u0130", "b needle"),
  filled(TEXT, "\u00df", "c needle"),
  filled(TEXT, "\ufdfa", "d needle"),
  filled(TEXT, "\u023a", "e needle"),
  filled(TEXT, "1\u{1f600}", "fg needle"),
  filled(TEXT, "word ", "in needle"),
  filled(TEXT, '"', "j needle"),
];
const COUNT = { kind: "count", where: null } as const;

/** Tests of texts, links and attributes at their limits. */
export function longTextsContract({ name, open }: StoreAdapter): void {
  test(`${name}: texts at their limit are found, sorted and grouped, whatever their characters`, async (t) => {
    const store = await open(t);
    const log = newLog();
    t.true(LONGEST.every((text) => [...text].length === TEXT));
    await write(
      t,
      store,
      LONGEST.map((text, i) => event(log, { text, created: MORNING + i, link: filled(LINK, "\u{1f600}", `${i}`) })),
    );
    const found = (where: Condition): Promise<string[]> => texts(store, listPlan(log, { where }));
    for (const [i, text] of LONGEST.entries()) {
      const end = text.slice(-8);
      t.deepEqual(await found({ kind: "text", field: "text", op: "=", value: fold(text) }), [text], `equals ${i}`);
      t.deepEqual(await found({ kind: "contains", field: "text", value: end.toUpperCase() }), [text], `contains ${i}`);
      t.deepEqual(await found({ kind: "matches", field: "text", pattern: `${end}$` }), [text], `matches ${i}`);
      const link = filled(LINK, "\u{1f600}", `${i}`);
      t.deepEqual(await found({ kind: "text", field: "link", op: "=", value: link }), [text], `link ${i}`);
    }
    t.deepEqual(await found({ kind: "contains", field: "text", value: "NEEDLE" }), LONGEST);
    const byText = LONGEST.toSorted((a, b) => compareCodePoints(fold(a), fold(b)));
    t.deepEqual(await texts(store, listPlan(log, { sort: [{ field: "text", direction: "asc" }] })), byText);
    const groupsBy = async (field: "text" | "pattern" | "link"): Promise<string[]> =>
      (await store.group(groupPlan(log, { by: [{ kind: "field", field }], aggregates: [COUNT] }))).map(({ keys }) =>
        String(keys[0]),
      );
    t.deepEqual((await groupsBy("text")).toSorted(), LONGEST.toSorted());
    t.deepEqual((await groupsBy("pattern")).toSorted(), LONGEST.map(textPattern).toSorted());
    t.is((await groupsBy("link")).length, LONGEST.length);
  });

  test(`${name}: attributes at their limits are found and grouped`, async (t) => {
    const store = await open(t);
    const log = newLog();
    t.true(attributeTerm_bytes(DEFAULT_LIMITS) <= TERM_MAX_BYTES);
    const attribute = filled(NAME, "\u{1f600}", "n");
    const value = filled(VALUE, "\u{1f600}", "v");
    const many = Array.from({ length: 20_000 }, (_, i) => (i % 40 === 0 ? `x${i % 7}` : ""));
    await write(t, store, [
      event(log, { text: "long", attributes: JSON.stringify({ [attribute]: value }) }),
      event(log, { text: "many", attributes: JSON.stringify({ [attribute]: many }) }),
      event(log, { text: "none" }),
    ]);
    const field: AttributeField = `@${attribute}`;
    const found = async (where: Condition): Promise<string[]> =>
      (await texts(store, listPlan(log, { where }))).toSorted();
    t.deepEqual(await found({ kind: "text", field, op: "=", value: fold(value) }), ["long"]);
    t.deepEqual(await found({ kind: "text", field, op: "=", value: "x3" }), ["many"]);
    t.deepEqual(await found({ kind: "contains", field, value: "\u{1f600}V" }), ["long"]);
    t.deepEqual(await found({ kind: "absent", field }), ["none"]);
    const groups = await store.group(groupPlan(log, { by: [{ kind: "field", field }], aggregates: [COUNT] }));
    t.is(groups.length, 1 + 1 + 8);
    t.true(groups.some(({ keys }) => keys[0] === value));
  });
}
