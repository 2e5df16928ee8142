import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import type { EventId } from "../../src/events/id.ts";
import { measureStore } from "../../src/monitoring/measured.ts";
import type { EngineObserver } from "../../src/monitoring/measured.ts";
import { openDuckdbStore } from "../../src/store/duckdb/store.ts";
import type { Store } from "../../src/store/store.ts";
import { event, groupPlan, listPlan, newLog } from "../contract/store-fixture.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { writeEvents } from "../support/write-events.ts";

const ID = "6635f7a0000000010badcafe" as EventId;

/** The store, with a record of the arguments of each method. */
function recording(store: Store, calls: Record<string, unknown[]>): Store {
  return new Proxy(store, {
    get(target, name: keyof Store & string) {
      const method: unknown = target[name];
      if (typeof method !== "function") return method;
      return (...input: unknown[]): unknown => {
        calls[name] = input;
        return Reflect.apply(method, target, input) as unknown;
      };
    },
  });
}

test("a measured store forwards every call and counts it", async (t) => {
  const file = join(temporaryFolder(t), "events.duckdb");
  await using store = await openDuckdbStore({ file, log: pino({ level: "silent" }), listedAttributes: 2 });
  const log = newLog();
  await writeEvents(store, [event(log), event(log), event(log, { attributes: '{"a":1,"b":2,"c":3}' })]);
  const calls: Record<string, unknown[]> = {};
  const asked: string[] = [];
  const observer: EngineObserver = {
    append: () => {},
    write: () => {},
    query: (kind, _, ok) => asked.push(`${kind} ${ok}`),
    unlisted: (attributes) => asked.push(`${attributes} unlisted`),
  };
  const measured = measureStore(recording(store, calls), observer);
  const plan = listPlan(log);

  t.is((await measured.list(plan, { countUpTo: 2 })).rows.length, 3);
  await measured.rows(plan);
  await measured.group(groupPlan(log));
  await measured.find({ kind: "events" }, log, ID);
  await measured.data(log, ID);
  await measured.annotations([ID]);
  const query = { log, from: null, to: null, prefix: "@", values: 0 };
  t.is((await measured.fields(query)).unlisted, 1);
  t.deepEqual(calls, {
    list: [plan, { countUpTo: 2 }],
    rows: [plan],
    group: [groupPlan(log)],
    find: [{ kind: "events" }, log, ID],
    data: [log, ID],
    annotations: [[ID]],
    fields: [query],
  });
  t.deepEqual(asked, ["list true", "list true", "group true", "find true", "data true", "marks true", "1 unlisted"]);
});
