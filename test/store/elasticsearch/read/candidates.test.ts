import type { Client } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import test from "ava";

import { setTimeout as sleep } from "node:timers/promises";

import { withTimeout } from "../../../../src/elasticsearch/client.ts";
import type { EventRow, LogKey, StoredEvent } from "../../../../src/events/event.ts";
import { checkExpression } from "../../../../src/query/regex/regex.ts";
import { runPlan, verified } from "../../../../src/store/elasticsearch/read/candidates.ts";
import { encodeDocument } from "../../../../src/store/elasticsearch/documents/document.ts";
import { DataReading } from "../../../../src/store/elasticsearch/read/data-reading.ts";
import { ANY_ORDER } from "../../../../src/store/elasticsearch/client/scan.ts";
import type { SearchRequest, Searcher } from "../../../../src/store/elasticsearch/client/scan.ts";
import { fieldTexts } from "../../../../src/store/elasticsearch/read/verify.ts";
import { event, groupPlan, listPlan } from "../../../contract/store-fixture.ts";
import { hostileText } from "../../../support/hostile-text.ts";
import { holdOfBest_ms } from "../../../support/turns.ts";
import { Scheduler } from "../../../../src/scheduling/scheduler.ts";

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
      const options = { query: { match_all: {} }, sort: ANY_ORDER, isWhole: true, querying: new Scheduler().querying };
      for await (const row of verified(search, plan, options)) rows.push(row.id);
      t.deepEqual(rows, [found.id]);
    });
    t.true(hold_ms < HOLD_LIMIT_MS, `the process was held for ${Math.round(hold_ms)} ms`);
  });
}

const SEARCHED = { kind: "contains", field: "data", value: "pool exhausted" } as const;
const OPTIONS = { query: { match_all: {} }, sort: ANY_ORDER, isWhole: true, querying: new Scheduler().querying };

/** Returns a searcher of so many events, of which it returns the given ones again and again. */
function endlessSearcher(total: number, given: string | Partial<StoredEvent>, sizes: number[] = []): Searcher {
  const fields = typeof given === "string" ? { data: given } : given;
  const first = Date.UTC(2026, 10, 27, 10);
  const last = first + 3_600_000 - 1;
  const hit = { _index: "events", _id: "1", sort: [1] };
  const source = JSON.parse(encodeDocument(event(log, fields), () => false)) as unknown;
  return async ({ size = 10, aggs = {} }) => {
    if (size > 0) sizes.push(size);
    const interval = Number.parseInt(String(aggs["times"]?.date_histogram?.fixed_interval ?? 0));
    const buckets = Array.from({ length: 1000 }, (_, i) => ({
      key: last + 1 - (i + 1) * interval,
      doc_count: total / 1000,
    }));
    return {
      took: 1,
      timed_out: false,
      _shards: { failed: 0, successful: 1, total: 1 },
      hits: {
        total: { value: total, relation: "eq" },
        hits: Array.from({ length: size }, () => ({ ...hit, _source: source })),
      },
      aggregations: { first: { value: first }, last: { value: last }, times: { buckets } },
    };
  };
}

async function readAll(plan: ReturnType<typeof listPlan>, search: Searcher, options = OPTIONS): Promise<number> {
  let count = 0;
  for await (const _ of verified(search, plan, options)) count += 1;
  return count;
}

test("data of more than a million events is not read, and the error names a shorter time", async (t) => {
  const sizes: number[] = [];
  const search = endlessSearcher(4_000_000, "none", sizes);
  const message = (range: string) =>
    "This condition has to be tested on the data of more than 1,000,000 events: " +
    `ask for a shorter time, or for whole words that the data contains, for example ${range}`;
  await t.throwsAsync(readAll(listPlan(log, { where: SEARCHED }), search), {
    code: "too_wide",
    message: message("OCCURS('2026-11-27T10:45Z')"),
  });
  const before = { kind: "number", field: "created", op: "<", value: Date.UTC(2026, 10, 27, 11) } as const;
  await t.throwsAsync(readAll(listPlan(log, { where: { kind: "and", conditions: [SEARCHED, before] } }), search), {
    code: "too_wide",
    message: message("OCCURS('2026-11-27T10:45Z', '2026-11-27T11:00Z')"),
  });
  t.deepEqual(sizes, []);
});

test("a list that is full before a million events are read is answered, however many there are", async (t) => {
  const search = endlessSearcher(4_000_000, "the pool exhausted");
  const plan = listPlan(log, { where: SEARCHED });
  const rows = verified(search, plan, { ...OPTIONS, isWhole: false });
  for (let i = 0; i < 1_000; i++) t.false((await rows.next()).done);
  await rows.return(undefined);
});

test("a list that is not full after a million events fails as well", async (t) => {
  const search = endlessSearcher(4_000_000, "none");
  const reading = new DataReading(search, { match_all: {} }, SEARCHED);
  let read = 0;
  const readBatches = async (): Promise<void> => {
    for await (const documents of reading.batches(ANY_ORDER)) read += documents.length;
  };
  await t.throwsAsync(readBatches(), { code: "too_wide" });
  t.true(read > 999_000 && read <= 1_000_000);
});

test.serial("reading data ends before the query's time is over, and the error names a shorter time", async (t) => {
  const search = endlessSearcher(9_000, "none");
  const waiting: Searcher = async (request) => {
    if (request.size !== 0) await sleep(20);
    return search(request);
  };
  const query = withTimeout(500, () => readAll(listPlan(log, { where: SEARCHED }), waiting));
  const message = /^The data of \d+ events was tested in the time that a query has.*OCCURS\('2026-11-27T10:[^']+Z'\)$/;
  await t.throwsAsync(query, { code: "too_wide", message });
});

test("responses with data are of bounded length", async (t) => {
  for (const [length, most] of [
    [65_536, 16],
    [5_000, 250],
    [10, 200],
  ] as const) {
    const sizes: number[] = [];
    const rows = verified(
      endlessSearcher(1, `${"x".repeat(length)} pool exhausted`, sizes),
      listPlan(log, { where: SEARCHED }),
      {
        ...OPTIONS,
        isWhole: false,
      },
    );
    for (let i = 0; i < 2_000; i++) await rows.next();
    await rows.return(undefined);
    t.is(sizes[0], 16);
    t.true(
      sizes.slice(1).every((size) => size <= most && size >= most / 2),
      String(sizes),
    );
  }
});

test("responses with texts are of bounded length", async (t) => {
  const where = { kind: "matches", field: "text", pattern: "x" } as const;
  for (const [length, most] of [
    [8_000, 70],
    [10, 2_000],
  ] as const) {
    const sizes: number[] = [];
    const text = "x".repeat(length);
    const search = endlessSearcher(1, { text, pattern: text }, sizes);
    const rows = verified(search, listPlan(log, { where }), { ...OPTIONS, isWhole: false });
    for (let i = 0; i < 4_200; i++) await rows.next();
    await rows.return(undefined);
    t.is(sizes[0], 100);
    t.true(sizes.length > 2 && sizes.slice(1).every((size) => size <= most && size >= most / 2), String(sizes));
  }
});

/** Runs a plan on few events that words find. @returns the answers' limits, and how it was answered */
async function runOnFew(answers: (request: SearchRequest) => Promise<unknown>) {
  const requests: { readonly size: number; readonly most_bytes: number | undefined }[] = [];
  const client = {
    search: async (request: SearchRequest & { size: number }, { maxResponseSize }: { maxResponseSize?: number }) => {
      requests.push({ size: request.size, most_bytes: maxResponseSize });
      return answers(request);
    },
  };
  const plan = listPlan(log, { where: { kind: "contains", field: "text", value: "7 took" } });
  const answeredBy = await runPlan<string>(plan, {
    exact: async () => "index",
    exactness: () => ({ isExact: false, doubts: [] }),
    isWhole: true,
    querying: OPTIONS.querying,
    byScanning: async () => "batches",
    fromRows: (rows) => `${rows.length} rows`,
    few: { client: client as unknown as Client, index: "events", sort: ["id"], source: true },
  });
  return { answeredBy, requests };
}

test("few events are read at once, unless they are long", async (t) => {
  const answersOf = (text: string) => (request: SearchRequest) => endlessSearcher(1_200, { text })(request);
  const short = await runOnFew(async (request) => {
    const answer = await answersOf("7 took")(request);
    return { ...answer, hits: { ...answer.hits, hits: answer.hits.hits.slice(0, 1_200) } };
  });
  t.is(short.answeredBy, "1200 rows");
  t.deepEqual(short.requests, [
    { size: 500, most_bytes: 16_000_000 },
    { size: 2_000, most_bytes: 16_000_000 },
  ]);
  const long = await runOnFew(answersOf("7 took".padEnd(8_000, "x")));
  t.is(long.answeredBy, "batches");
  t.is(long.requests.length, 1);
  const tooLong = await runOnFew(() => {
    throw new errors.RequestAbortedError("The content length (9) is bigger than the maximum allowed string (8)");
  });
  t.is(tooLong.answeredBy, "batches");
  await t.throwsAsync(
    runOnFew(() => Promise.reject(new errors.RequestAbortedError("Request aborted"))),
    { message: "Request aborted" },
  );
});

test("data is known for the tests of counts, and no longer than until the next event", async (t) => {
  const where = { kind: "absent", field: "geo" } as const;
  const plan = groupPlan(log, { where, aggregates: [{ kind: "count", where: SEARCHED }] });
  const rows: EventRow[] = [];
  for await (const row of verified(searcherOf([1, 2].map((n) => event(log, { data: `data ${n}` }))), plan, OPTIONS)) {
    t.deepEqual(fieldTexts(row, "data"), [`data ${rows.length + 1}`]);
    for (const earlier of rows) t.deepEqual(fieldTexts(earlier, "data"), []);
    rows.push(row);
  }
  t.is(rows.length, 2);
});

test("long data is tested without blocking the process", async (t) => {
  const hold_ms = await holdOfBest_ms(HOLD_LIMIT_MS, async () => {
    for (const where of [
      SEARCHED,
      { kind: "matches", field: "data", pattern: "(?:pool|é+) (?:full|exhausted)$" },
    ] as const) {
      const events = Array.from({ length: 20 }, (_, i) =>
        event(log, { data: `${"Überlauf é ".repeat(5_900)}${i === 7 ? "pool exhausted" : ""}` }),
      );
      t.is(await readAll(listPlan(log, { where }), searcherOf(events)), 1);
    }
  });
  t.true(hold_ms < HOLD_LIMIT_MS, `the process was held for ${Math.round(hold_ms)} ms`);
});
