import test from "ava";
import fc from "fast-check";

import { fold } from "../../../../src/events/text.ts";
import { ContainedText } from "../../../../src/store/elasticsearch/read/contained-text.ts";

function foundInSteps(value: string, text: string): { readonly isFound: boolean; readonly steps: number } {
  const search = new ContainedText(value).inSteps(text);
  for (let steps = 1; ; steps++) {
    const { done, value: isFound } = search.next();
    if (done === true) return { isFound, steps };
  }
}

test("a long text is searched in steps, also across their edges", (t) => {
  for (let length = 8_170; length < 8_200; length++) {
    const text = `${"Ü".repeat(length)}Pool Exhausted${"x".repeat(20_000)}`;
    t.deepEqual(foundInSteps("pool exhausted", text), { isFound: true, steps: length < 8_179 ? 1 : 2 }, String(length));
    t.false(foundInSteps("pool exhausted!", text).isFound);
  }
  t.true(foundInSteps("no such text", "é".repeat(65_536)).steps >= 8);
});

test("no character is divided between two steps", (t) => {
  for (const start of ["", "x"]) {
    const text = `${start}${"\u{10400}".repeat(10_000)}`;
    t.true(foundInSteps("\u{10428}".repeat(9_000), text).isFound);
    t.false(foundInSteps("\udc28\ud801x", text).isFound);
  }
});

test("steps find what folded texts contain", (t) => {
  const unit = fc.constantFrom("a", "B", "ſ", "\u212a", "\u{10400}", "é".repeat(4_000), " ".repeat(8_190));
  fc.assert(
    fc.property(fc.array(unit, { minLength: 1, maxLength: 12 }), fc.nat({ max: 30 }), (units, at) => {
      const text = units.join("");
      const value = text.slice(at, at + 3).toWellFormed() || "b";
      const search = new ContainedText(value);
      t.is(foundInSteps(value, text).isFound, fold(text).includes(fold(value)));
      t.is(search.test(text), fold(text).includes(fold(value)));
    }),
    { numRuns: 300 },
  );
});
