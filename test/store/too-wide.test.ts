import test from "ava";

import { tooWide } from "../../src/store/too-wide.ts";

test("the error names a range that would do, with an end only where a date can be one", (t) => {
  const from_ms = Date.UTC(2026, 10, 21, 9, 30);
  const example = (to_ms: number) => tooWide("Too much", { from_ms, to_ms }).message.split("for example ")[1];
  t.is(example(from_ms + 90_500), "OCCURS('2026-11-21T09:30Z', '2026-11-21T09:31:30.500Z')");
  for (const to_ms of [Infinity, 9e15, Number.MAX_SAFE_INTEGER]) t.is(example(to_ms), "OCCURS('2026-11-21T09:30Z')");
});
