import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import { pino } from "pino";

import { textPattern } from "../../../src/events/pattern.ts";
import type { StoredEvent } from "../../../src/events/event.ts";
import type { EventId } from "../../../src/events/id.ts";
import type { Condition, ListPlan } from "../../../src/query/plan.ts";
import { namesIn } from "../../../src/store/elasticsearch/documents/mapping.ts";
import { openElasticsearchStore } from "../../../src/store/elasticsearch/store.ts";
import { fixedZone } from "../../../src/query/zone.ts";
import { groupPlan, listPlan, MORNING, newLog } from "../../contract/store-fixture.ts";
import { ABSENT_FIELDS } from "../../../src/events/absent-fields.ts";
import { elasticsearchClient } from "../../support/elasticsearch.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { hour } from "../../support/groups.ts";
import { uniqueName } from "../../support/temporary.ts";
import { writeEvents } from "../../support/write-events.ts";

/** `DATA_EVENTS=1000000` measures what the documentation says of a million. */
const { DATA_EVENTS = "20000" } = process.env;
const COUNT = Number(DATA_EVENTS);
const BATCH = 2_000;
/** One trace of so many has the rare words, and one the words in another order. */
const RARE = 1_000;

if (realEngines) {
  test("data of many events is found by few reads, and the times are logged", async (t) => {
    t.timeout(3_600_000);
    const client: Client = elasticsearchClient();
    const namespace = uniqueName("many");
    t.teardown(async () => {
      await client.indices.delete({ index: Object.keys(await client.indices.get({ index: `${namespace}-*` })) });
      await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
      await client.close();
    });
    const store = await openElasticsearchStore({ client, namespace, log: pino({ level: "silent" }) });
    const log = newLog();
    for (let from = 0; from < COUNT; from += BATCH) {
      const some = Array.from({ length: Math.min(BATCH, COUNT - from) }, (_, i) => traceOf(log, from + i));
      const outcomes = await writeEvents(store, some);
      t.true(outcomes.every(({ kind }) => kind === "done"));
    }
    const { events: index } = namesIn(namespace);
    await client.indices.forcemerge({ index, max_num_segments: 1 });
    await store.refresh();
    t.log(`${COUNT} events; ${await sizesOf(client, index)}`);

    const took: string[] = [];
    const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
      const began_ms = performance.now();
      const found = await work();
      took.push(`${what} ${Math.round(performance.now() - began_ms)} ms`);
      return found;
    };
    const newest = (where: Condition): ListPlan =>
      listPlan(log, { where, sort: [{ field: "created", direction: "desc" }] });
    const rare = Math.ceil(COUNT / RARE);
    const phrase = contains("pool exhausted");
    t.is((await timed("a word", () => store.list(newest(contains("quagmire"))))).total, rare);
    t.is((await timed("two words", () => store.list(newest(phrase)))).total, rare);
    t.is((await timed("a number", () => store.list(newest(contains("order 77"))))).rows.length, 100);
    const byHour = groupPlan(log, { where: phrase, by: [hour(fixedZone(0))] });
    await timed("two words by hour", () => store.group(byHour));
    const counted = groupPlan(log, {
      by: [],
      aggregates: [
        { kind: "count", where: phrase },
        { kind: "count", where: null },
      ],
    });
    const [group] = await timed("two words counted among all", () => store.group(counted));
    t.deepEqual(group!.values, [rare, COUNT]);
    const others = { kind: "not" as const, condition: phrase };
    const all = await timed("NOT two words, exact total", () => store.list(newest(others)));
    t.is(all.total, COUNT - rare);
    t.is((await timed("NOT two words, a page", () => store.rows(newest(others)))).length, 100);
    const unnarrowed = groupPlan(log, { where: contains("l e"), by: [hour(fixedZone(0))] });
    await timed("no word", () => store.group(unnarrowed).catch(({ code, message }) => t.log(code, message)));
    t.log(took.join("; "));
  });
} else {
  test.skip("data of many events: this test needs Elasticsearch", (t) => t.pass());
}

function contains(value: string): Condition {
  return { kind: "contains", field: "data", value };
}

function traceOf(log: StoredEvent["log"], i: number): StoredEvent {
  const created = MORNING + i * 100;
  const text = `checkout of order ${i} failed`;
  const cause =
    i % RARE === 0 ? "pool exhausted in a quagmire" : i % RARE === 1 ? "exhausted pool" : `timeout after ${i % 977} ms`;
  const frames = Array.from(
    { length: 9 },
    (_, line) => `    at ${FRAMES[(i + line * 7) % FRAMES.length]!}:${(i * 31 + line) % 900}:${(i + line) % 60})`,
  );
  const data = `Error: order ${i}: ${cause}\n${frames.join("\n")}`;
  return { id: idOf(created, i), log, created, text, ...ABSENT_FIELDS, pattern: textPattern(text), class: null, data };
}

const FRAMES = Array.from(
  { length: 300 },
  (_, i) =>
    `Service${i % 17}.handle${String.fromCharCode(97 + (i % 26)).repeat(1 + (i % 5))} (/srv/app/src/module-${i}/file${i % 40}.ts`,
);

function idOf(ms: number, i: number): EventId {
  const second = Math.floor(ms / 1000)
    .toString(16)
    .padStart(8, "0");
  return `${second}${(ms % 1000).toString(16).padStart(3, "0")}${(i % 0x100000).toString(16).padStart(5, "0")}0000000d` as EventId;
}

/** Returns the sizes of an index and of what it holds of data. */
async function sizesOf(client: Client, index: string): Promise<string> {
  const answer = await client.indices.diskUsage({ index, run_expensive_tasks: true });
  const usage = Object.values(answer as Record<string, Usage>).find((each) => "store_size_in_bytes" in each);
  const { store_size_in_bytes: whole, fields } = usage!;
  const sizeOf = (field: string): number => fields[field]?.total_in_bytes ?? 0;
  const mb = (bytes: number): string => `${Math.round(bytes / 100_000) / 10} MB`;
  const parts = ["data", "folded.dataDigits", "folded.text.letters", "folded.digits", "_source"];
  return [`index ${mb(whole)}`, ...parts.map((field) => `${field} ${mb(sizeOf(field))}`)].join(", ");
}

type Usage = {
  readonly store_size_in_bytes: number;
  readonly fields: Readonly<Record<string, { readonly total_in_bytes: number }>>;
};
