import test from "ava";
import type { Socket } from "node:net";

import type { LogKey } from "../../src/events/event.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { open } from "./raw.ts";

const MB = 1024 * 1024;

/**
 * Shares the log with an account.
 * @returns its `Authorization` header
 */
async function share({ ports }: Service, email: string): Promise<string> {
  const password = "battery staple";
  await ports.catalog.createAccount({ email, password, admin: false });
  await ports.catalog.share(LOG as LogKey, email, "user");
  return `Basic ${Buffer.from(`${email}:${password}`).toString("base64")}`;
}

async function metricOf(service: Service, name: string): Promise<number> {
  const text = await (await fetch(`${service.apiUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}
/**
 * As XML they take 7 MB: more than the system buffers for a connection, less than one account's
 * share.
 */
const GROUPS = 13_000;
const QUESTION = `/1/logs/${LOG}/query?fmt=xml&query=GET+events+GROUPBY+source`;

test("unread responses stay within their memory, one account's within half of it", async (t) => {
  t.timeout(180_000);
  const environment = environmentOf("embedded", temporaryFolder(t));
  const service = await startService({ ...environment, LOGGIA_ANSWERS_MB: "16" });
  t.teardown(() => service.close());
  const bobs = await share(service, "bob@example.org");
  const ask = (path: string, Authorization: string) => fetch(service.apiUrl + path, { headers: { Authorization } });
  for (let from = 0; from < GROUPS; from += 5_000) {
    const batch = Array.from({ length: Math.min(5_000, GROUPS - from) }, (_, i) => ({
      text: "one of many",
      source: `${from + i} ${"é".repeat(190)}`,
    }));
    const headers = { "Content-Type": "application/json", "X-API-Key": KEY };
    const body = JSON.stringify(batch);
    const { status } = await fetch(`${service.postUrl}/1/logs/${LOG}/events`, { method: "POST", headers, body });
    t.is(status, 201);
  }
  await until(
    async () => {
      const list = await ask(`/1/logs/${LOG}/events?pagesize=1&total=exact`, AUTHORIZATION);
      return Number(list.headers.get("X-Total-Count")) === GROUPS;
    },
    { what: "all events" },
  );
  const metric = (name: string) => metricOf(service, name);
  const waiting = () => metric("loggia_answers_waiting");
  const refusals = () => metric('loggia_refused_total\\{reason="answers"\\}');
  const unread = (count: number, authorization: string): Promise<Socket[]> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const socket = await open(service.api!.port);
        t.teardown(() => socket.destroy());
        socket.pause();
        socket.write(`GET ${QUESTION} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
        return socket;
      }),
    );

  const anns = await unread(6, AUTHORIZATION);
  await until(async () => (await metric("loggia_answers_bytes")) > 4 * MB, { what: "an answer that nobody reads" });
  const refused = await ask(QUESTION, AUTHORIZATION);
  t.is(refused.status, 429, "a person's own answers are in the way");
  t.not(refused.headers.get("Retry-After"), null);
  t.regex(await refused.text(), /responses in progress/);
  t.true((await metric("loggia_answers_bytes")) <= 8 * MB, "half of the memory");
  t.true((await refusals()) > 0);
  t.is((await ask(QUESTION, bobs)).status, 200, "others have their own half");

  // Some of his questions wait, and are refused after a while.
  const before = await refusals();
  const others = await unread(6, bobs);
  await until(async () => (await waiting()) + (await refusals()) > before, { what: "bob's questions that wait" });
  t.true((await metric("loggia_answers_bytes")) <= 16 * MB);
  for (const socket of [...anns, ...others]) socket.destroy();
  await until(async () => (await metric("loggia_answers_bytes")) === 0, { what: "the release of all memory" });
  t.is((await ask(QUESTION, AUTHORIZATION)).status, 200);
});

test("memory used by other queries gives 503 for a while, and is released when they end or disconnect", async (t) => {
  const service = await startService({
    ...environmentOf("embedded", temporaryFolder(t)),
    LOGGIA_ANSWERS_MB: "16",
  });
  t.teardown(() => service.close());
  const { store } = service.ports;
  const [bobs, carols] = [await share(service, "bob@example.org"), await share(service, "carol@example.org")];
  const group = store.group.bind(store);
  const slow = Promise.withResolvers<void>();
  store.group = async (...given) => {
    await slow.promise;
    return await group(...given);
  };
  const leaving = new AbortController();
  const ask = (Authorization: string, signal?: AbortSignal) =>
    fetch(service.apiUrl + QUESTION, { headers: { Authorization }, ...(signal === undefined ? {} : { signal }) });
  const staying = ask(AUTHORIZATION);
  const left = ask(bobs, leaving.signal).catch(() => "left");
  await until(async () => (await metricOf(service, "loggia_answers_bytes")) === 16 * MB, { what: "both halves" });
  const [anns, others] = await Promise.all([ask(AUTHORIZATION), ask(carols)]);
  t.is(anns.status, 429, "her own question is in the way");
  t.is(others.status, 503, "the questions of others are in the way");
  for (const { headers } of [anns, others]) t.regex(headers.get("Retry-After") ?? "", /^[1-9]\d*$/);
  leaving.abort();
  t.is(await left, "left");
  slow.resolve();
  t.is((await staying).status, 200);
  await until(async () => (await metricOf(service, "loggia_answers_bytes")) === 0, {
    what: "the release of all memory",
  });
  t.is((await ask(carols)).status, 200);
});
