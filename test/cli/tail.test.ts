import test, { type ExecutionContext } from "ava";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

import { tail } from "../../src/cli/tail.ts";
import { ADMIN, LOG, get, post, serviceOf, type Service } from "../support/service.ts";
import { until } from "../support/until.ts";

/** A proxy between a client and the service that can be cut. */
type Wire = {
  readonly url: string;
  /** Everything that the service has sent. */
  readonly passed: () => string;
  cut(): void;
};

async function wireTo(t: ExecutionContext, service: Service): Promise<Wire> {
  const open = new Set<Socket>();
  const { hostname, port } = new URL(service.apiUrl);
  let passed = "";
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    open.add(client);
    client.pipe(upstream).pipe(client);
    upstream.on("data", (bytes: Buffer) => (passed += bytes.toString("latin1")));
    for (const socket of [client, upstream]) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        open.delete(client);
        client.destroy();
        upstream.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  t.teardown(() => {
    cut();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, passed: () => passed, cut };
}

type Tailing = { readonly lines: readonly string[]; readonly stop: () => Promise<void> };

function tailing(t: ExecutionContext, api: string, { query, last }: { query: string; last: number }): Tailing {
  const lines: string[] = [];
  const abort = new AbortController();
  const options = { api, as: `${ADMIN.email}:${ADMIN.password}`, log: LOG, query, last, json: true };
  const running = tail(options, (line) => lines.push(line), abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort();
    await running;
  };
  t.teardown(stop);
  return { lines, stop };
}

async function say(t: ExecutionContext, service: Service, text: string): Promise<void> {
  t.is((await post(service, { text })).status, 201);
}

async function stored(service: Service, count: number): Promise<void> {
  const total = async () => (await get(service, `/1/logs/${LOG}/events?pagesize=1`)).headers.get("x-total-count");
  await until(async () => (await total()) === String(count), { what: `${count} events` });
}

for (const query of ["GET events COLUMNS(text)", "GET events COLUMNS(id, text)"]) {
  test(`${query}: a tail whose connection breaks continues where it was`, async (t) => {
    const service = await serviceOf(t, "embedded");
    for (const text of ["one", "two", "three"]) await say(t, service, text);
    await stored(service, 3);
    const wire = await wireTo(t, service);
    const { lines, stop } = tailing(t, wire.url, { query, last: 2 });
    await until(() => lines.length === 2, { what: "the last two" });
    for (const text of ["four", "five"]) {
      wire.cut();
      await say(t, service, `${text}, while it was broken`);
      await until(() => lines.some((line) => line.includes(text)), { what: text });
    }
    await say(t, service, "six");
    await until(() => lines.some((line) => line.includes("six")), { what: "six" });
    await stop();
    const texts = lines.map((line) => (JSON.parse(line) as { text: string }).text);
    t.deepEqual(texts, ["two", "three", "four, while it was broken", "five, while it was broken", "six"]);
  });
}

test("a tail without events yet misses none that is stored while it is disconnected", async (t) => {
  const service = await serviceOf(t, "embedded");
  await say(t, service, "before");
  await stored(service, 1);
  const wire = await wireTo(t, service);
  const { lines } = tailing(t, wire.url, { query: "GET events COLUMNS(text, created)", last: 0 });
  await until(() => /\nid: [0-9a-f]{24}\n\n/.test(wire.passed()), { what: "the place to resume" });
  wire.cut();
  await say(t, service, "meanwhile");
  await until(() => lines.length > 0, { what: "the event of the meantime" });
  await say(t, service, "last");
  await until(() => lines.length > 1, { what: "the last event" });
  t.is(lines.length, 2);
  t.regex(lines[0]!, /^\{"created":"20\d\d-[\dT:.-]+Z","text":"meanwhile"\}$/);
});

test("the JSON that is printed cannot control the terminal, and has the same value", async (t) => {
  const service = await serviceOf(t, "embedded");
  const text = "a\u009b2J \u007f\u0085 \u202ebackwards\u2066\u200f\u2028 \u001b]0;x\u0007 gr\u00f6\u00dfe";
  await post(service, { text });
  const { lines } = tailing(t, service.apiUrl, { query: "GET events", last: 10 });
  await until(() => lines.length === 1, { what: "the event" });
  t.notRegex(lines[0]!, /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
  t.is((JSON.parse(lines[0]!) as { text: string }).text, text);
});
