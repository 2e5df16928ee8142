import test from "ava";
import type { ExecutionContext } from "ava";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { AUTHORIZATION, environmentOf, get, KEY, LOG, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { longestHold_ms } from "../support/turns.ts";
import { until } from "../support/until.ts";

const MB = 1024 * 1024;
const NAMES = 500_000;
const NAMES_OF_EVENT = 250;
const EVENTS_OF_BATCH = 1_000;
const LISTED = 10_000;
/** Reserved for the answer, twice for its output, and what the requests around it leave. */
const MOST_GROWTH_BYTES = 80 * MB;
/** Steps of this work are short; other work of the process may add to them. */
const MOST_HOLD_MS = 50;

const FIELDS = `/1/logs/${LOG}/fields`;
const UNKNOWN = `/1/logs/${LOG}/query?query=${encodeURIComponent("GET events WHERE @ofen = 1")}`;
const RARE = `/1/logs/${LOG}/events?attr.n2ny9=1`;

test("half a million names in one log neither end nor stall the process, before and after a restart", async (t) => {
  t.timeout(600_000);
  const environment = environmentOf("embedded", temporaryFolder(t));
  let service = await startService(environment);
  t.teardown(() => service.close());
  await postNames(service);
  for (const when of ["at first", "after a restart"]) {
    const fields = await measured(t, service, FIELDS);
    const listed = (fields.body as { name: string; count: string }[]).filter(({ name }) => name.startsWith("@"));
    t.is(listed.length, LISTED, when);
    t.is(listed.find(({ name }) => name === "@often")?.count, String(NAMES / NAMES_OF_EVENT));
    t.is(fields.hint, `The most frequent attributes are listed; about ${NAMES + 1 - LISTED} more are not. ${REMEDY}`);
    // The names are suggested where reading them takes less time than an answer waits for hints.
    const unknown = await measured(t, service, UNKNOWN);
    t.regex(unknown.hint ?? "No event has @ofen.", /^No event has @ofen(\.|; did you mean @often\?)$/);
    const rare = await measured(t, service, RARE);
    t.is((rare.body as unknown[]).length, 1);
    t.is(rare.hint, null);
    const metrics = await (await fetch(`${service.apiUrl}/metrics`)).text();
    t.regex(metrics, new RegExp(`^loggia_attributes_unlisted ${NAMES + 1 - LISTED}$`, "m"));
    await service.close();
    service = await startService(environment);
  }
});

const REMEDY = "Give a longer prefix or a shorter time.";

async function postNames({ apiUrl, postUrl }: Service): Promise<void> {
  const headers = { "Content-Type": "application/json", "X-API-Key": KEY };
  for (let from = 0; from < NAMES; from += NAMES_OF_EVENT * EVENTS_OF_BATCH) {
    const batch = Array.from({ length: EVENTS_OF_BATCH }, (_, i) => {
      const first = from + i * NAMES_OF_EVENT;
      const names = Array.from({ length: NAMES_OF_EVENT }, (_, k) => [`n${(first + k).toString(36)}`, 1] as const);
      return { text: "a", attributes: { ...Object.fromEntries(names), often: 1 } };
    });
    const body = JSON.stringify(batch);
    const { status } = await fetch(`${postUrl}/1/logs/${LOG}/events`, { method: "POST", headers, body });
    if (status !== 201) throw new Error(`a batch was answered with ${status}`);
  }
  const isStored = async (): Promise<boolean> => {
    const list = await fetch(`${apiUrl}/1/logs/${LOG}/events?pagesize=1&total=exact&apikey=${KEY}`);
    return Number(list.headers.get("X-Total-Count")) === NAMES / NAMES_OF_EVENT;
  };
  await until(isStored, { what: "all events", timeout_ms: 300_000 });
}

type Answer = { readonly hint: string | null; readonly body: unknown };
type Cost = {
  /** How much more memory JavaScript took at most, including garbage. */
  readonly growth_bytes: number;
  /** The longest time for which the thread was held. */
  readonly hold_ms: number;
  /** Number of other requests answered meanwhile. */
  readonly others: number;
};

/** Sends a request until it costs little: compilation and garbage may make some attempts costly. */
async function measured(t: ExecutionContext, service: Service, path: string): Promise<Answer> {
  const costs: string[] = [];
  const cheap = async (): Promise<Answer | null> => {
    const { answer, cost } = await ask(service, path);
    if (answer === null) return null;
    const { growth_bytes, hold_ms, others } = cost;
    costs.push(`${Math.round(growth_bytes / MB)} MB more, held for ${Math.round(hold_ms)} ms, ${others} others`);
    return growth_bytes < MOST_GROWTH_BYTES && hold_ms < MOST_HOLD_MS && others > 0 ? answer : null;
  };
  const answer = await until(cheap, { what: `a cheap answer to ${path}`, timeout_ms: 200_000 }).finally(() => {
    t.log(`${path}: ${costs.join("; ")}`);
  });
  return answer;
}

/** Sends a request, and others meanwhile. The answer is null if it exceeded the limit of a query. */
async function ask(service: Service, path: string): Promise<{ answer: Answer | null; cost: Cost }> {
  collectGarbage();
  const before_bytes = used_bytes();
  let most_bytes = before_bytes;
  let others = 0;
  const over = new AbortController();
  const sampling = setInterval(() => (most_bytes = Math.max(most_bytes, used_bytes())), 5);
  const asking = (async () => {
    while (!over.signal.aborted) {
      const { status } = await get(service, "/1/logs");
      if (status === 200 && !over.signal.aborted) others += 1;
      await sleep(20);
    }
  })();
  try {
    const { longest_ms, answer } = await longestHold_ms(async () => {
      const response = await fetch(service.apiUrl + path, { headers: { Authorization: AUTHORIZATION } });
      return { response, bytes: Buffer.from(await response.arrayBuffer()) };
    });
    const { response, bytes } = answer;
    const cost = { growth_bytes: most_bytes - before_bytes, hold_ms: longest_ms, others };
    if (response.status !== 200) return { answer: null, cost };
    return { answer: { hint: response.headers.get("X-Loggia-Hint"), body: JSON.parse(bytes.toString()) }, cost };
  } finally {
    over.abort();
    clearInterval(sampling);
    await asking;
  }
}

function used_bytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
