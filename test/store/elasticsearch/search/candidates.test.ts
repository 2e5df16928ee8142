import test from "ava";

import type { LogKey, StoredEvent } from "../../../../src/events/event.ts";
import { checkExpression } from "../../../../src/query/regex/regex.ts";
import { verified } from "../../../../src/store/elasticsearch/search/candidates.ts";
import { encodeDocument } from "../../../../src/store/elasticsearch/document.ts";
import { ANY_ORDER } from "../../../../src/store/elasticsearch/search/scan.ts";
import type { Searcher } from "../../../../src/store/elasticsearch/search/scan.ts";
import { event, listPlan } from "../../../contract/store-fixture.ts";
import { hostileText } from "../../../support/hostile-text.ts";
import { holdOfBest_ms } from "../../../support/turns.ts";

const log = "heavy" as LogKey;
const HOLD_LIMIT_MS = 100;

/** Returns a searcher that answers with these events at once. */
function searcherOf(events: readonly StoredEvent[]): Searcher {
  const hits = events.map((each) => ({
    _index: "events",
    _id: each.id,
    _source: JSON.parse(encodeDocument(each, () => false)) as unknown,
  }));
  return ({ size }) =>
    Promise.resolve({
      took: 1,
      timed_out: false,
      _shards: { failed: 0, successful: 1, total: 1 },
      hits: { total: { value: hits.length, relation: "eq" }, hits: size === 0 ? [] : hits },
    });
}

const HEAVY = [
  { pattern: "a[ab]{400}[cx]", length: 500, count: 60, match: `a${"b".repeat(400)}c` },
  { pattern: "a[ab]{990}[cx]", length: 4096, count: 8, match: `a${"b".repeat(990)}x` },
  { pattern: "(?:\\b|a)(?:a|\\bb|\\Bb){200}[cx]", length: 32_768, count: 2, match: `${"ab".repeat(100)}x` },
] as const;

for (const { pattern, length, count, match } of HEAVY) {
  test.serial(`candidates are checked without blocking the process, by ${pattern}`, async (t) => {
    t.is(checkExpression(pattern).kind, "ok");
    const texts = Array.from({ length: count }, (_, i) => hostileText(i, length));
    const some = texts.map((text) => event(log, { text }));
    const found = event(log, { text: match });
    const plan = listPlan(log, { where: { kind: "matches", field: "text", pattern } });
    const search = searcherOf([...some, found]);
    const hold_ms = await holdOfBest_ms(HOLD_LIMIT_MS, async () => {
      const rows = [];
      const options = { query: { match_all: {} }, sort: ANY_ORDER, source: true } as const;
      for await (const row of verified(search, plan, options)) rows.push(row.id);
      t.deepEqual(rows, [found.id]);
    });
    t.true(hold_ms < HOLD_LIMIT_MS, `the process was held for ${Math.round(hold_ms)} ms`);
  });
}
