import test from "ava";

import { previewHook } from "../../../src/ingest/protocols/hooks/preview.ts";
import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { holdOfBest_ms } from "../../support/turns.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const MOST_MS = 15;
/** As large as the API takes it. */
const LARGE = JSON.stringify({ a: Array.from({ length: 9_000 }, (_, i) => [i]) });
const LIST = JSON.stringify({
  items: Array.from({ length: 10 }, () => ({ a: Array.from({ length: 900 }, () => [1]) })),
});

for (const [name, template, body] of [
  ["a large object again and again", { text: "{a}".repeat(100) }, LARGE],
  ["alternatives that are absent", { text: `{${Array.from({ length: 100 }, (_, i) => `x${i}`).join("|")}}` }, LARGE],
  ["large items of a list", { each: "items", text: "{a}{$.items}".repeat(40), tags: ["{a}", "{$.items}"] }, LIST],
] as const) {
  test(`a preview of a template takes no long step with ${name}`, async (t) => {
    const hook = { kind: "json", template } as const;
    const options = { limits: DEFAULT_LIMITS, read_ms: 0, scheduler: new Scheduler() };
    const longest_ms = await holdOfBest_ms(MOST_MS, () => previewHook({ hook, body, headers: {} }, options));
    t.true(longest_ms < MOST_MS, `${longest_ms.toFixed()} ms`);
  });
}
