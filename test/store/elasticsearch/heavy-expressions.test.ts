import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import { pino } from "pino";

import { runForCaller } from "../../../src/caller-context.ts";
import { ClientGone } from "../../../src/errors.ts";
import { openElasticsearchStore } from "../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { event, listPlan, newLog, write } from "../../contract/store-fixture.ts";
import { elasticsearchClient } from "../../support/elasticsearch.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { uniqueName } from "../../support/temporary.ts";
import { longestHold_ms } from "../../support/turns.ts";

const log = pino({ level: "silent" });

if (realEngines) {
  const namespace = uniqueName("heavy");
  const many = newLog();
  let client: Client;
  let store: Store;

  test.before(async (t) => {
    client = elasticsearchClient();
    store = await openElasticsearchStore({ client, namespace, log });
    // No two runs of letters are alike, so cached matcher states of one do not help with another.
    let seed = 1;
    const letter = (): string => ((seed = (seed * 48_271) % 0x7fffffff) & 0x10000 ? "a" : "b");
    const events = Array.from({ length: 200 }, (_, i) => {
      const letters = Array.from({ length: 500 }, letter);
      if (i === 150) letters.splice(98, 402, "a", ..."b".repeat(400), "c");
      const trace = Array.from({ length: 4000 }, letter).join("");
      return event(many, { text: letters.join(""), attributes: JSON.stringify({ trace }) });
    });
    await write(t, store, events);
  });
  test.after.always(async () => {
    await store[Symbol.asyncDispose]();
    await client.indices.delete({ index: Object.keys(await client.indices.get({ index: `${namespace}-*` })) });
    await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
    await client.close();
  });

  const heavy = (field: "text" | "@trace", pattern: string) =>
    listPlan(many, { where: { kind: "matches", field, pattern }, sort: [], take: 10 });

  test("an expression that takes long for each text yields to other work", async (t) => {
    let share = Infinity;
    // Compilation and garbage collection may hold up a single attempt.
    for (let attempt = 0; attempt < 5 && share >= 1 / 4; attempt++) {
      const begin_ms = performance.now();
      const { longest_ms, answer } = await longestHold_ms(() => store.list(heavy("text", "a[ab]{400}c")));
      share = Math.min(share, longest_ms / (performance.now() - begin_ms));
      t.is(answer.total, 1);
    }
    t.true(share < 1 / 4, `held up for ${(share * 100).toFixed(0)} % of the time`);
  });

  test("an expression is abandoned when its client disconnects", async (t) => {
    const gone = new AbortController();
    // Each value takes some twenty milliseconds.
    const asked = runForCaller("ann", () => store.list(heavy("@trace", "a[ab]{990}c")), gone.signal);
    setTimeout(() => gone.abort(), 300);
    await t.throwsAsync(asked, { instanceOf: ClientGone });
  });
}
