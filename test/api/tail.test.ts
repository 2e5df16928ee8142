import test from "ava";
import type { ExecutionContext } from "ava";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { KINDS } from "../support/engine-kinds.ts";
import { AUTHORIZATION, get, LOG, postOnce, serviceOf } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { until } from "../support/until.ts";

/** A reader that stands still for longer than this is too slow. */
const TOO_SLOW_MS = 6_000;

/** An open tail and what it has received. */
type Reading = { readonly text: () => string; readonly ended: Promise<void>; close(): void; readonly status: number };

async function open(
  t: ExecutionContext,
  service: Service,
  query: string,
  headers: Record<string, string> = {},
): Promise<Reading> {
  const controller = new AbortController();
  t.teardown(() => controller.abort());
  const response = await fetch(`${service.apiUrl}/1/logs/${LOG}/tail?${query}`, {
    headers: { Authorization: AUTHORIZATION, ...headers },
    signal: controller.signal,
  });
  let text = "";
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) text += decoder.decode(chunk, { stream: true });
  };
  const ended = read().catch(() => undefined);
  return { text: () => text, ended, close: () => controller.abort(), status: response.status };
}

/** Returns the texts of the received events, in order. */
function textsIn(stream: string): string[] {
  return [...stream.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => (JSON.parse(json) as { text: string }).text);
}

function idsIn(stream: string): string[] {
  return [...stream.matchAll(/^id: ([0-9a-f]{24})$/gm)].map(([, id = ""]) => id);
}

async function say(service: Service, text: string, more: Record<string, string> = {}): Promise<void> {
  await postOnce(service, { text, ...more });
}

/** Waits until a reader by `sinceid` sees this many events of the log. */
async function stored(service: Service, count: number): Promise<void> {
  const path = `/1/logs/${LOG}/events?pagesize=1&total=exact&sinceid=${"0".repeat(24)}`;
  await until(async () => (await get(service, path)).headers.get("x-total-count") === String(count), {
    what: `${count} events`,
  });
}

for (const kind of KINDS) {
  test(`${kind}: a tail sends the last events, each new one once, and continues after the last one seen`, async (t) => {
    t.timeout(300_000);
    const service = await serviceOf(t, kind);
    for (const text of ["one", "two", "three"]) await say(service, text);
    await stored(service, 3);
    const tail = await open(t, service, "last=2");
    await until(() => textsIn(tail.text()).length === 2, { what: "the last two" });
    for (const text of ["four", "five", "six"]) await say(service, text);
    await until(() => textsIn(tail.text()).length === 5, { what: "the new ones" });
    t.deepEqual(textsIn(tail.text()), ["two", "three", "four", "five", "six"]);
    t.true(tail.text().startsWith(": "), "the answer begins before anything happens");
    tail.close();

    await say(service, "seven");
    await stored(service, 7);
    const again = await open(t, service, "", { "Last-Event-ID": idsIn(tail.text())[2]! });
    await until(() => textsIn(again.text()).length === 3, { what: "all after the third" });
    t.deepEqual(textsIn(again.text()), ["five", "six", "seven"]);
    again.close();

    const lines = await open(
      t,
      service,
      `query=${encodeURIComponent("GET events WHERE source = 'db' OR data CONTAINS 'pool exhausted' COLUMNS(text)")}`,
      {
        Accept: "application/x-ndjson",
      },
    );
    await until(() => lines.text() !== "", { what: "the beginning" });
    await say(service, "not this", { source: "web", data: "exhausted pool" });
    await say(service, "this", { source: "db" });
    await say(service, "and this", { data: "Pool Exhausted" });
    await until(() => lines.text().trim().includes("\n"), { what: "the events" });
    t.is(lines.text().trim(), '{"text":"this"}\n{"text":"and this"}');
  });
}

for (const kind of KINDS) {
  test(`${kind}: a reader that reconnects again and again under load gets each event once`, async (t) => {
    t.timeout(300_000);
    const service = await serviceOf(t, kind);
    await say(service, "first");
    await stored(service, 1);
    const count = 400;
    const posting = Promise.all(
      Array.from({ length: 8 }, async (_, producer) => {
        for (let i = producer; i < count; i += 8) await say(service, `event ${i}`);
      }),
    );
    const seen: string[] = [];
    let last = "0".repeat(24);
    while (seen.length <= count) {
      // The service may not have noticed yet that all of the earlier ones are closed.
      const next = async () => {
        const opened = await open(t, service, "", { "Last-Event-ID": last });
        return opened.status === 200 ? opened : null;
      };
      const tail = await until(next, { what: "a place for one more tail" });
      await until(() => idsIn(tail.text()).length > 0, { what: "the events that follow" });
      tail.close();
      await tail.ended;
      const ids = idsIn(tail.text());
      // A client counts complete lines only.
      const texts = textsIn(tail.text().slice(0, tail.text().lastIndexOf("\n\n") + 2));
      seen.push(...texts);
      last = ids[texts.length - 1] ?? last;
    }
    await posting;
    t.deepEqual(seen.toSorted(), ["first", ...Array.from({ length: count }, (_, i) => `event ${i}`)].toSorted());
  });
}

test("a tail begins once its position is known, so that no event after that is missed", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { store } = service.ports;
  const rows = store.rows.bind(store);
  const order: string[] = [];
  const begun = Promise.withResolvers<void>();
  store.rows = async (plan) => {
    // A response that begins too early does so within this time.
    await Promise.race([begun.promise, sleep(1_000)]);
    order.push("position");
    return await rows(plan);
  };
  await open(t, service, "last=0");
  order.push("response");
  begun.resolve();
  t.deepEqual(order, ["position", "response"]);
});

test("an invalid tail request is refused before the stream starts", async (t) => {
  const service = await serviceOf(t, "embedded");
  const wrong = [
    "last=501",
    "last=-1",
    "query=GET%20events%20GROUPBY%20source",
    "query=GET%20events%20TAKE%205",
    "query=GET%20events%20SORT%20value",
    "text=(",
  ];
  for (const query of wrong) t.is((await open(t, service, query)).status, 400, query);
  t.is((await open(t, service, "", { "Last-Event-ID": "xyz" })).status, 400);
  const tails = await Promise.all(Array.from({ length: 8 }, () => open(t, service, "")));
  t.true(tails.every(({ status }) => status === 200));
  t.is((await open(t, service, "")).status, 429, "eight are enough for one");
  tails[0]!.close();
  await until(async () => (await open(t, service, "")).status === 200, {
    what: "the place of the one that was closed",
  });
});

test("a tail ends when the reader loses access, and at shutdown", async (t) => {
  t.timeout(300_000);
  const service = await serviceOf(t, "embedded");
  const { catalog } = service.ports;
  const bob = { email: "bob@example.org", password: "bob's password" };
  await catalog.createAccount({ ...bob, admin: false });
  await catalog.share(LOG as never, bob.email, "user");
  const asBob = (password: string) => ({
    Authorization: `Basic ${Buffer.from(`${bob.email}:${password}`).toString("base64")}`,
  });
  const first = await open(t, service, "", asBob(bob.password));
  await catalog.setPassword(bob.email, "another password");
  await first.ended;
  const second = await open(t, service, "", asBob("another password"));
  await catalog.unshare(LOG as never, bob.email);
  await second.ended;
  const { id, secret } = await catalog.createApiKey(LOG as never, "read-only");
  const third = await open(t, service, `apikey=${secret}`, { Authorization: "" });
  await catalog.setApiKeyDisabled(LOG as never, id, true);
  await third.ended;
  const last = await open(t, service, "");
  t.is(last.status, 200);
  await service.close();
  await last.ended;
});

test("a reader that is too slow is told how many events it missed, and continues with the newest", async (t) => {
  t.timeout(600_000);
  const service = await serviceOf(t, "embedded");
  const { hostname, port } = new URL(service.apiUrl);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  const head = `GET /1/logs/${LOG}/tail HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: ${AUTHORIZATION}\r\n`;
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.write(`${head}\r\n`);
  await until(() => text !== "", { what: "the beginning" });
  // More than the socket buffers hold.
  const burst = 40_000;
  const fields = { link: "l".repeat(190), user: "u".repeat(190), source: "s".repeat(190) };
  let count = 0;
  const standStill = async (): Promise<void> => {
    socket.pause();
    const end = count + burst;
    for (; count < end; count += 2_500) {
      await postOnce(
        service,
        Array.from({ length: 2_500 }, (_, i) => ({ text: `line ${count + i}`, ...fields })),
      );
    }
    await stored(service, count);
    await sleep(TOO_SLOW_MS);
    socket.resume();
    await until(() => text.includes(`"line ${count - 1}"`), { what: "the newest event" });
  };
  // On a slow machine the tail itself may be late, and the buffers full only shortly before the end.
  for (let attempt = 0; attempt < 3 && !text.includes("event: skipped"); attempt++) await standStill();
  const skipped = [...text.matchAll(/event: skipped\ndata: \{"count":(\d+)\}/g)].map(([, n]) => Number(n));
  t.true(skipped.length > 0);
  // HTTP chunks may split a line, but no event is written twice.
  const texts = new Set([...text.replaceAll(/\r\n[0-9a-f]+\r\n/g, "").matchAll(/"text":"(line \d+)"/g)].map(([, line]) => line)); // prettier-ignore
  t.is(texts.size + skipped.reduce((sum, n) => sum + n, 0), count);
});
