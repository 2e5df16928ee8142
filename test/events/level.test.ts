import test from "ava";

import { LEVELS, LEVEL_WORDS, levelOfTags, rankOfTags, rankOfWord } from "../../src/events/level.ts";

test("the most severe level that a tag names counts, in any case and by the whole tag", (t) => {
  t.is(levelOfTags([]), "");
  t.is(levelOfTags(["payment", "errors"]), "");
  t.is(levelOfTags(["INFO", "Error", "payment"]), "error");
  t.is(levelOfTags(["err", "panic"]), "fatal");
  t.is(rankOfTags(["warning"]), LEVELS.indexOf("warn"));
});

test("each word names one level", (t) => {
  const expected = {
    trace: ["trace"],
    debug: ["debug"],
    info: ["info", "notice"],
    warn: ["warn", "warning"],
    error: ["error", "err"],
    fatal: ["fatal", "emergency", "alert", "critical", "crit", "panic"],
  };
  for (const [level, words] of Object.entries(expected))
    for (const word of words) t.is(levelOfTags([word]), level as (typeof LEVELS)[number]);
  t.is(LEVEL_WORDS.length, Object.values(expected).flat().length);
  t.is(rankOfWord("severe"), null);
});
