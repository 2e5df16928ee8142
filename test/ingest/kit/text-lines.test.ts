import test from "ava";
import fc from "fast-check";

import { readFilledLines, readTextLines } from "../../../src/ingest/kit/text-lines.ts";
import type { TextLine } from "../../../src/ingest/kit/text-lines.ts";

function textsOf(lines: ReturnType<typeof readTextLines>): TextLine[] {
  return [...lines].filter((line) => typeof line === "string" || Buffer.isBuffer(line));
}

test("blank lines are left out, whatever they consist of", (t) => {
  const characters = fc.constantFrom("\n", "\r\n", " ", "\t", "\r", "a", "\u2003", "{}");
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 60 }), (text) => {
      const body = Buffer.from(text);
      t.deepEqual(
        textsOf(readFilledLines(body)),
        textsOf(readTextLines(body)).filter((line) => line !== ""),
      );
    }),
  );
});

test("a body of blank lines is skipped in few steps", (t) => {
  const steps = [...readFilledLines(Buffer.from(" \r\n".repeat(1_000_000)))];
  t.true(steps.length >= 5 && steps.length <= 20, `${steps.length} steps`);
});
