import test from "ava";

import { encodeAttributes } from "../../src/events/attributes.ts";
import type { LogKey, StoredEvent } from "../../src/events/event.ts";
import { planQuery } from "../../src/query/planner.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { examples } from "../query/examples.ts";
import { evaluateList } from "../reference/evaluate.ts";
import { evaluateGroup, groupsAgree } from "../reference/groups.ts";
import { event, newLog, pageOf, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

/** Tuesday. */
const NOW = Date.UTC(2026, 10, 24, 13);
const HOUR_MS = 3_600_000;
const PATHS = ["/", "/cart", "/health"];
const TEXTS = ["disk 99% full", "volume 7 full: timeout", "Timeout after 30 s", "first sale"];

/** Returns events of the ten days before {@link NOW} that match every query of the pages. */
function happened(log: LogKey): StoredEvent[] {
  return Array.from({ length: 120 }, (_, i) => {
    const path = i % PATHS.length;
    const attributes = {
      "http.path": PATHS[path]!,
      "http.status": i % 4 === 0 ? 500 : i % 4 === 1 ? "500" : 200,
      "odd name": i % 2 === 0 ? "A" : "007",
      host: `h${i % 5}`,
      retried: i % 2 === 0,
      took: path * 400 + i,
      trace_id: i % 10 === 0 ? "ABC" : `t${i}`,
      ...(i % 7 === 0 ? {} : { user_id: i }),
    };
    return event(log, {
      created: NOW - 7 * i * (i % 2 === 0 ? HOUR_MS / 60 : HOUR_MS / 4) - i,
      text: TEXTS[i % TEXTS.length]!,
      source: ["web-1", "web-2", "", "db"][i % 4]!,
      user: ["ann", "bob", ""][i % 3]!,
      tags: i % 3 === 0 ? ["slow", "checkout"] : [],
      class: i % 5 === 0 ? "error" : null,
      value: i % 6 === 0 ? null : i,
      geo: i % 8 === 0 ? { lat: 52.5 + i / 1000, lon: 13.4 } : null,
      attributes: encodeAttributes(new Map(Object.entries(attributes))),
    });
  });
}

/** Runs every query of the documentation of the language and checks its result. */
export function documentationContract({ name, open }: StoreAdapter): void {
  test(`${name}: the examples of the documentation return the documented results`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = happened(log);
    await write(t, store, events);
    let found = 0;
    for (const text of examples()) {
      const question = planQuery(text, { logs: [log], now_ms: NOW, zone: fixedZone(120) });
      if (question.kind === "list") {
        const page = await pageOf(store, question);
        t.deepEqual(page, evaluateList(question, events), text);
        if (page.total > 0) found += 1;
      }
      if (question.kind === "groups") {
        const groups = await store.group(question.plan);
        t.true(groupsAgree(question.plan, groups, events), `${text}\n${JSON.stringify(groups).slice(0, 500)}`);
        if (evaluateGroup(question.plan, events).length > 0) found += 1;
      }
    }
    t.true(found > 40, `${found} found something`);
  });
}
