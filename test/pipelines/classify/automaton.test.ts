import test from "ava";
import fc from "fast-check";
import { compileAutomaton, NO_VALUE } from "../../../pipelines/classify/automaton.ts";
import type { AutomatonPattern } from "../../../pipelines/classify/automaton.ts";
import { finish } from "../../../pipelines/classify/steps.ts";

const text = fc.string({ unit: fc.constantFrom("a", "b", "c", " ", "é", "日", "😀"), maxLength: 30 });
const set = fc
  .uniqueArray(fc.string({ unit: fc.constantFrom("a", "b", "c", "é", "日", "😀"), minLength: 1, maxLength: 6 }), {
    maxLength: 12,
  })
  .chain((texts) =>
    fc
      .array(fc.integer({ min: 0, max: 20 }), { minLength: texts.length, maxLength: texts.length })
      .map((values): AutomatonPattern[] =>
        texts.map((text, i) => ({
          text,
          value: values[i]! > 15 ? NO_VALUE : values[i]!,
          id: values[i]! % 3 === 0 ? -1 : i,
        })),
      ),
  );

for (const near of [0, 12, undefined]) {
  test(`finds what each pattern by itself finds, with ${near ?? "the usual"} entries near the roots`, (t) => {
    fc.assert(
      fc.property(fc.array(set, { minLength: 1, maxLength: 3 }), fc.array(text, { maxLength: 8 }), (sets, texts) => {
        const automaton = finish(compileAutomaton(sets, near));
        for (const [i, patterns] of sets.entries()) {
          for (const one of texts) {
            const found = patterns.filter((pattern) => one.includes(pattern.text));
            const least = Math.min(12, ...found.map(({ value }) => value));
            const ids: number[] = [];
            t.is(automaton.search(i, one, 12, ids), least);
            const expected = found.map(({ id }) => id).filter((id) => id >= 0);
            t.deepEqual(
              ids.toSorted((a, b) => a - b),
              expected.toSorted((a, b) => a - b),
            );
            t.is(automaton.search(i, one, 12, null), least);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
}
