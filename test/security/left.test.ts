import test from "ava";
import type { ExecutionContext } from "ava";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

import type { StoredEvent } from "../../src/events/event.ts";
import { hashText } from "../../src/events/hash.ts";
import { createIdSource } from "../../src/events/id.ts";
import { textPattern } from "../../src/events/pattern.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { elasticsearchUrl } from "../support/engines.ts";
import { environmentOf, LOG, serviceOf, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { cookieOf, fromPage, signIn } from "../support/session.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { writeEvents } from "../support/write-events.ts";

const EVENTS = 20_000;
/** Takes seconds over texts of such letters. */
const SLOW = "a[ab]{30}c";
const AT_ONCE = 12;

/** Returns a text of letters a and b without a pattern. */
function textOf(seed: number): string {
  let [text, state] = ["", seed * 7919 + 1];
  for (let k = 0; k < 480; k++) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    text += (state & 65_536) === 0 ? "a" : "b";
  }
  return text;
}

async function fill({ ports: { store } }: Service): Promise<void> {
  const nextId = createIdSource();
  const absent = { link: "", tags: [], source: "", user: "", geo: null, class: null, data: null, attributes: null };
  const events = Array.from({ length: EVENTS }, (_, i): StoredEvent => {
    const text = textOf(i);
    const made = { hash: hashText(text), pattern: textPattern(text) };
    return { ...absent, ...made, id: nextId().id, created: 1_700_000_000_000 + i, log: LOG as never, text, value: i };
  });
  for (let i = 0; i < EVENTS; i += 10_000) {
    const outcomes = await writeEvents(store, events.slice(i, i + 10_000));
    if (outcomes.some(({ kind }) => kind !== "done")) throw new Error("the events could not be written");
  }
  await store.refresh();
}

async function metric({ apiUrl }: Service, line: RegExp): Promise<number> {
  const text = await (await fetch(`${apiUrl}/metrics`)).text();
  const found = text.split("\n").filter((each) => line.test(each));
  return found.reduce((sum, each) => sum + Number(each.split(" ").at(-1)), 0);
}

/**
 * Starts requests, each again while it is refused because others wait; returns a function that
 * disconnects them.
 */
function startMany(service: Service, headers: Record<string, string>) {
  const leaving = new AbortController();
  const paths = [
    `/1/logs/${LOG}/events?text=${encodeURIComponent(SLOW)}`,
    `/1/logs/${LOG}/query?query=${encodeURIComponent(`GET events WHERE text MATCHES '${SLOW}' GROUPBY DAY`)}`,
    `/1/logs/${LOG}/export?text=${encodeURIComponent(SLOW)}`,
  ];
  const send = async (path: string): Promise<string> => {
    for (;;) {
      const response = await fetch(service.apiUrl + path, { headers, signal: leaving.signal });
      const text = await response.text();
      if (response.status !== 429) return text;
    }
  };
  const all = Array.from({ length: AT_ONCE }, (_, i) => send(paths[i % paths.length]!).catch(() => "left"));
  return { left: Promise.all(all), leave: () => leaving.abort() };
}

const running = (service: Service) => metric(service, /^loggia_queries_running /);
const waiting = (service: Service) => metric(service, /^loggia_queries_waiting /);

/** Requests that ended, or whose time limit did. */
const ENDED = /^loggia_http_requests_total\{[^}]*\/(events|query)"[^}]*status="(200|503)"/;

async function leavesAll(t: ExecutionContext, service: Service): Promise<void> {
  const headers = fromPage(cookieOf(await signIn(service))) as Record<string, string>;
  const { left, leave } = startMany(service, headers);
  await until(async () => (await running(service)) === 8, { what: "all places to be taken" });
  await until(async () => (await waiting(service)) > 0, { what: "more to wait" });
  leave();
  t.deepEqual(new Set(await left), new Set(["left"]));
  // DuckDB looks for an interruption after some thousand texts, which take a busy machine a minute.
  await until(async () => (await running(service)) + (await waiting(service)) === 0, {
    what: "all to be given up",
    timeout_ms: 300_000,
  });
}

async function answersAgain(t: ExecutionContext, service: Service): Promise<void> {
  const headers = fromPage(cookieOf(await signIn(service))) as Record<string, string>;
  const path = `/1/logs/${LOG}/query?query=${encodeURIComponent("GET events GROUPBY DAY")}`;
  t.is((await fetch(`${service.apiUrl}${path}`, { headers })).status, 200);
}

test.serial("embedded: queries of disconnected clients are interrupted and stop waiting", async (t) => {
  t.timeout(600_000);
  const service = await serviceOf(t, "embedded");
  await fill(service);
  await leavesAll(t, service);
  // Requests that were nearly done may end normally.
  t.true((await metric(service, ENDED)) <= 2);
  await answersAgain(t, service);
});

/** Elasticsearch, behind a proxy that can hold its searches. */
async function holdSearches(t: ExecutionContext) {
  const held = { isHolding: false, waiting: 0, aborted: 0 };
  const target = elasticsearchUrl();
  const server = createServer((incoming, outgoing) => {
    const { method, url = "", headers } = incoming;
    if (held.isHolding && /-events[^/]*\/_search/.test(url)) {
      held.waiting += 1;
      outgoing.on("close", () => (held.aborted += 1));
      return;
    }
    const sent = request(`${target}${url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    sent.on("error", () => outgoing.destroy());
    outgoing.on("close", () => sent.destroy());
    incoming.pipe(sent);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return { held, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

if (realEngines) {
  test.serial("cluster: requests of disconnected clients are cancelled and stop waiting", async (t) => {
    t.timeout(600_000);
    const { held, url } = await holdSearches(t);
    const environment = { ...environmentOf("cluster", temporaryFolder(t)), ELASTICSEARCH_URL: url };
    const service = await startService(environment);
    t.teardown(() => service.close());
    await until(async () => (await signIn(service)).status === 201, { what: "the service" });
    held.isHolding = true;
    const before = held.waiting;
    await leavesAll(t, service);
    held.isHolding = false;
    t.is(await metric(service, ENDED), 0);
    // Elasticsearch cancels a search whose connection closes.
    t.true(held.waiting - before >= 8, String(held.waiting));
    await until(() => held.aborted >= held.waiting - before, { what: "their connections to be closed" });
    await answersAgain(t, service);
  });
}
