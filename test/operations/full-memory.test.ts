import test from "ava";
import { pino } from "pino";
import { setTimeout as sleep } from "node:timers/promises";

import { startLoggia } from "../../src/main.ts";
import { readSettings } from "../../src/settings.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

/** So little that DuckDB checkpoints every few batches and a query fills the rest. */
const STORE_MB = 32;
const SPILLED_MB = 256;
const BATCH = 500;
const MOST_EVENTS = 100_000;
/** Events are posted as fast as possible, so that the pipeline writes as much as it can at once. */
const ROUND = 20_000;
const ROUND_MS = 300_000;
const TIMEOUT_MS = 1_200_000;
const ASKING = 3;
const REOPENED = /the store failed permanently and is being reopened/;
const WORDS = /needs more memory|is unavailable|takes? too much memory|is busy|wait until they end|try again/;

/** Each event has a text and value of its own. */
function batchFrom(first: number): string {
  const lines = Array.from({ length: BATCH }, (_, i) => {
    const number = first + i;
    const own = (number * 104_729).toString(36);
    return JSON.stringify({
      text: `request=${own} ended in ${number} ms, ${own.repeat(60)}`,
      source: `web-${number % 50}`,
      value: number,
    });
  });
  return lines.join("\n");
}

test("nothing accepted is lost while events arrive and queries fill the store's memory", async (t) => {
  t.timeout(TIMEOUT_MS);
  const settings = readSettings(environmentOf("embedded", temporaryFolder(t)));
  const memory = { ...settings.memory, store_mb: STORE_MB, spilled_mb: SPILLED_MB };
  const done = { posted: 0, reopened: 0 };
  const log = pino(
    { level: "error" },
    { write: (line: string) => void (done.reopened += REOPENED.test(line) ? 1 : 0) },
  );
  const start = async () => {
    const service = await startLoggia({ ...settings, memory }, log);
    return { service, api: `http://127.0.0.1:${service.api?.port}`, post: `http://127.0.0.1:${service.post?.port}` };
  };
  let { service, api, post } = await start();
  t.teardown(() => service.close());
  const ask = async (path: string, parameters: Record<string, string>) => {
    const query = new URLSearchParams(parameters).toString();
    const answer = await fetch(`${api}/1/logs/${LOG}${path}?${query}`, { headers: { Authorization: AUTHORIZATION } });
    return { status: answer.status, total: answer.headers.get("x-total-count"), body: await answer.text() };
  };
  const heavy = [
    "GET events GROUPBY source COLUMNS(KEY, DISTINCT(text), P99(value))",
    "GET events GROUPBY text COLUMNS(KEY, COUNT, SUM) SORT SUM DESC TAKE 10",
    "GET events SORT text TAKE 500",
  ];
  const answered = new Map<number, number>();
  let refused = 0;
  const loading = new AbortController();
  t.teardown(() => loading.abort());
  const asking = Array.from({ length: ASKING }, async (_, i) => {
    for (let n = i; !loading.signal.aborted; n++) {
      const { status, body } = await ask("/query", { query: heavy[n % heavy.length]! });
      answered.set(status, (answered.get(status) ?? 0) + 1);
      if (status === 200) continue;
      t.true(status === 503 || status === 429, `${status} ${body}`);
      t.regex(body, WORDS);
      if (/needs more memory/.test(body)) refused += 1;
      await sleep(5);
    }
  });
  const total = async (): Promise<string | null> => (await ask("/events", { pagesize: "1", total: "exact" })).total;
  const postBatch = async (): Promise<void> => {
    const headers = {
      "X-API-Key": KEY,
      "Content-Type": "application/x-ndjson",
      // A late request that is sent again is stored once.
      "Idempotency-Key": `batch ${done.posted}`,
    };
    const body = batchFrom(done.posted);
    const answer = await fetch(`${post}/1/logs/${LOG}/events`, { method: "POST", headers, body });
    const said = await answer.text();
    if (answer.status === 201) {
      t.regex(said, new RegExp(`"accepted":${BATCH},`));
      done.posted += BATCH;
    } else if (answer.status === 503) await sleep(100);
    else throw new Error(`a batch was answered ${answer.status}: ${said}`);
  };
  const allAreThere = () =>
    until(async () => (await total()) === String(done.posted), {
      what: `${done.posted} events`,
      timeout_ms: ROUND_MS,
      interval_ms: 100,
    });
  /** Returns how often the most frequent value occurs: each event has one of its own. */
  const timesOfOneValue = async (): Promise<unknown> => {
    const { status, body } = await ask("/query", {
      query: "GET events GROUPBY value COLUMNS(KEY, COUNT) SORT COUNT DESC TAKE 1",
    });
    t.is(status, 200, body);
    return Number((JSON.parse(body) as { count: string }[])[0]!.count);
  };
  // The store must be written to during the queries, not after them.
  while (done.posted < MOST_EVENTS && done.reopened === 0) {
    for (const end = done.posted + ROUND; done.posted < end;) await postBatch();
    await allAreThere();
  }
  loading.abort();
  await Promise.all(asking);
  t.is(await timesOfOneValue(), 1);
  t.log(
    `${done.posted} events, the store was opened anew ${done.reopened} times, ${refused} questions needed more memory`,
  );
  t.log(JSON.stringify([...answered]));
  await service.close();
  ({ service, api, post } = await start());
  // The bus redelivers what the store lacks.
  await allAreThere();
  t.is(await timesOfOneValue(), 1);
});
