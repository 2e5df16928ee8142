import { Agent, request } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import test from "ava";
import type { ExecutionContext } from "ava";

import { generateApiKey } from "../../src/auth/secrets.ts";
import { LoggiaError } from "../../src/errors.ts";
import type { LogKey } from "../../src/events/event.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { ADMIN, AUTHORIZATION, environmentOf, KEY, LOG, startService, STOPPED } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

/** Fewer than by default, so that they are soon used up. */
const FEW = { LOGGIA_RATE_FAILURES: "5" };
const PROXY = { LOGGIA_TRUSTED_PROXIES: "127.0.0.1" };

async function start(t: ExecutionContext, settings: Record<string, string> = {}, kind = KINDS[0]!): Promise<Service> {
  const service = await startService({ ...environmentOf(kind, temporaryFolder(t)), ...settings }, STOPPED);
  t.teardown(() => service.close());
  return service;
}

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };
type Ask = { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string };

/** Returns a client whose requests share one connection. */
function connect(t: ExecutionContext) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  return (url: string, { method = "GET", headers = {}, body }: Ask = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(url, { agent, method, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, text }));
      });
      sent.on("error", reject).end(body);
    });
}

/** Sends a request on a connection of its own. */
const ask = (t: ExecutionContext, url: string, options?: Ask): Promise<Answer> => connect(t)(url, options);

const basic = (email: string, password: string) => `Basic ${Buffer.from(`${email}:${password}`).toString("base64")}`;
const logs = ({ apiUrl }: Service) => `${apiUrl}/1/logs`;
const from = (address: string) => ({ "X-Forwarded-For": address });
const wrong = (i: number | string, email: string = ADMIN.email) => ({ Authorization: basic(email, `guess ${i}`) });
const RIGHT = { Authorization: AUTHORIZATION };

/** Guesses until it is refused, and returns how many guesses were answered. */
async function exhaust(t: ExecutionContext, service: Service, headers: Record<string, string> = {}): Promise<number> {
  const ask = connect(t);
  for (let i = 0; ; i++) {
    const { status } = await ask(logs(service), { headers: { ...wrong(i), ...headers } });
    if (status === 429) return i;
    t.is(status, 401);
    if (i > 100) throw new Error("guesses are not bounded");
  }
}

/** Returns a response without its date. */
function said({ status, headers: { date: _date, ...headers }, text }: Answer) {
  return { status, headers, text };
}

const form = (apikey: string): Ask => ({
  method: "POST",
  headers: { "Content-Type": "application/x-www-form-urlencoded" },
  body: String(new URLSearchParams({ apikey, text: "hello" })),
});
const posting = ({ postUrl }: Service) => `${postUrl}/1/logs/${LOG}/events`;

test.serial(
  "above the limit a right pair gets the response of a wrong one, except on its own connection",
  async (t) => {
    const service = await start(t, FEW);
    const mine = connect(t);
    t.is((await mine(logs(service), { headers: RIGHT })).status, 200);
    await exhaust(t, service);
    const { catalog } = service.ports;
    const authenticate = catalog.authenticate.bind(catalog);
    let checks = 0;
    catalog.authenticate = (...given) => {
      checks += 1;
      return authenticate(...given);
    };
    const refused = await ask(t, logs(service), { headers: wrong("again") });
    t.is(refused.status, 429);
    t.truthy(refused.headers["retry-after"]);
    t.is(refused.headers["www-authenticate"], undefined);
    const right = await ask(t, logs(service), { headers: RIGHT });
    t.deepEqual(said(right), said(refused));
    t.is(checks, 0, "neither is checked");
    t.is((await mine(logs(service), { headers: RIGHT })).status, 200);
    t.is((await mine(logs(service), { headers: wrong("here") })).status, 429);
  },
);

test.serial("producers keep posting while others guess, and a chosen key is not revealed", async (t) => {
  const service = await start(t, FEW);
  const drawn = await service.ports.catalog.createApiKey(LOG as LogKey, "read-write");
  const [byForm, byHttp] = [connect(t), connect(t)];
  // Chunked, which the fast path leaves to the server.
  const chunked = { ...form(KEY), headers: { ...form(KEY).headers!, "Transfer-Encoding": "chunked" } };
  t.is((await byForm(posting(service), form(KEY))).status, 201);
  t.is((await byHttp(posting(service), chunked)).status, 201);
  await exhaust(t, service);
  for (let i = 0; i < 3; i++) {
    t.is((await byForm(posting(service), form(KEY))).status, 201);
    t.is((await byHttp(posting(service), chunked)).status, 201);
    t.is((await ask(t, posting(service), form(drawn.secret))).status, 201, "a drawn key, on a new connection");
    t.is((await ask(t, `${logs(service)}?apikey=${drawn.secret}`)).status, 200);
    t.is((await ask(t, posting(service), form(generateApiKey()))).status, 401, "and a wrong one is refused as wrong");
  }
  for (const given of [form, (key: string) => ({ ...chunked, ...form(key), headers: chunked.headers })]) {
    const refused = await ask(t, posting(service), given(`${KEY}x`));
    const right = await ask(t, posting(service), given(KEY));
    t.is(refused.status, 429);
    t.deepEqual(said(right), said(refused));
  }
});

test.serial("wrong keys in the form of generated ones lock nobody out", async (t) => {
  const service = await start(t, FEW);
  for (let i = 0; i < 30; i++) t.is((await ask(t, posting(service), form(generateApiKey()))).status, 401);
  t.is((await ask(t, logs(service), { headers: RIGHT })).status, 200);
});

test.serial("guesses at one account are limited over all addresses, and its owner continues", async (t) => {
  const service = await start(t, { ...FEW, ...PROXY });
  t.is((await ask(t, logs(service), { headers: { ...RIGHT, ...from("192.0.2.1") } })).status, 200);
  let answered = 0;
  for (let i = 0; i < 30; i++) answered += await exhaust(t, service, from(`203.0.113.${i}`));
  t.true(answered >= 5 && answered <= 30, `${answered} guesses from 30 addresses`);
  const { status } = await ask(t, logs(service), { headers: { ...RIGHT, ...from("203.0.113.99") } });
  t.is(status, 429, "from a new address it is not confirmed");
  t.is((await ask(t, logs(service), { headers: { ...RIGHT, ...from("192.0.2.1") } })).status, 200);
  const other = wrong("other", "bob@example.org");
  t.is((await ask(t, logs(service), { headers: { ...other, ...from("203.0.113.99") } })).status, 401);
});

test.serial("an IPv6 site has the guesses of one address", async (t) => {
  const service = await start(t, { ...FEW, ...PROXY });
  const statuses: number[] = [];
  for (let i = 0; i < 20; i++) {
    const headers = { ...wrong(i, `nobody-${i}@example.org`), ...from(`2001:db8:7:${i}::1`) };
    statuses.push((await ask(t, logs(service), { headers })).status);
  }
  t.true(statuses.filter((status) => status === 401).length < 9, statuses.join(" "));
  t.is((await ask(t, logs(service), { headers: { ...RIGHT, ...from("2001:db8:8::1") } })).status, 200);
});

test.serial("a connection that a proxy shares among its clients identifies none of them", async (t) => {
  const service = await start(t, { ...FEW, ...PROXY });
  const shared = connect(t);
  const mine = { headers: { ...RIGHT, ...from("192.0.2.1") } };
  t.is((await shared(logs(service), mine)).status, 200);
  await exhaust(t, service, from("192.0.2.1"));
  t.is((await shared(logs(service), mine)).status, 429);
});

for (const kind of KINDS) {
  test.serial(`${kind}: requests that overlap a change of their password are no guesses`, async (t) => {
    const service = await start(t, FEW, kind);
    const account = `${service.apiUrl}/manage/1/accounts/${encodeURIComponent(ADMIN.email)}`;
    let password: string = ADMIN.password;
    for (let round = 0; round < 4; round++) {
      const change = (next: string): Promise<Answer> =>
        ask(t, account, {
          method: "PUT",
          headers: { Authorization: basic(ADMIN.email, password), "Content-Type": "application/json" },
          body: JSON.stringify({ password: next }),
        });
      const old = { headers: { Authorization: basic(ADMIN.email, password) } };
      const nexts = [0, 1].map((i) => `battery staple ${round} ${i}`);
      const crossing = Array.from({ length: 6 }, () => ask(t, logs(service), old));
      const changes = await Promise.all(nexts.map(change));
      const statuses = (await Promise.all(crossing)).concat(changes).map(({ status }) => status);
      t.true(
        statuses.every((status) => status === 200 || status === 401),
        statuses.join(" "),
      );
      for (let i = 0; i < 6; i++) t.is((await ask(t, logs(service), old)).status, 401);
      for (const next of nexts) {
        const { status } = await ask(t, logs(service), { headers: { Authorization: basic(ADMIN.email, next) } });
        t.true(status === 200 || status === 401, `${status}`);
        if (status === 200) password = next;
      }
    }
    t.is((await ask(t, logs(service), { headers: { Authorization: basic(ADMIN.email, password) } })).status, 200);
  });
}

/**
 * Returns how many of `others`, all sent before, are answered after a check while `mine` is
 * pending.
 */
async function overtaking(others: Promise<Answer>[], checked: number, mine: () => Promise<Answer>) {
  let done = 0;
  for (const other of others) void other.then(({ status }) => (done += status === checked ? 1 : 0));
  await until(async () => done > 0, { what: "the first of the others" });
  const before = done;
  const answer = await mine();
  const during = done - before;
  await Promise.all(others);
  return { answer, during };
}

test.serial("a sign-in gets its turn among 130 unknown clients, from a known address and a new one", async (t) => {
  const service = await start(t, PROXY);
  for (const address of ["192.0.2.1", "192.0.2.2"]) {
    const strangers = Array.from({ length: 130 }, (_, i) => {
      const headers = { ...wrong(address, `nobody-${i}@example.org`), ...from(`203.0.113.${i}`) };
      return ask(t, logs(service), { headers });
    });
    const { answer, during } = await overtaking(strangers, 401, () =>
      ask(t, logs(service), { headers: { ...RIGHT, ...from(address) } }),
    );
    t.is(answer.status, 200);
    t.true(during < 20, `${during} strangers were answered before`);
  }
});

test.serial("sign-ins from new addresses succeed among guesses from a new address each", async (t) => {
  const service = await start(t, PROXY);
  const account = (email: string) => ({ email, password: `password of ${email}` });
  const [attacked, people] = ["attacked", "person"].map((name) =>
    Array.from({ length: 12 }, (_, i) => account(`${name}-${i}@example.org`)),
  ) as [ReturnType<typeof account>[], ReturnType<typeof account>[]];
  for (const one of [...attacked, ...people]) await service.ports.catalog.createAccount({ ...one, admin: false });
  let [attempts, checked, refused] = [0, 0, 0];
  const flood = new AbortController();
  const guessOn = async (): Promise<void> => {
    while (!flood.signal.aborted) {
      const i = attempts++;
      const email = i % 3 === 0 ? attacked[(i / 3) % attacked.length]!.email : `nobody-${i}@example.org`;
      const headers = { ...wrong(i, email), ...from(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`) };
      const { status } = await ask(t, logs(service), { headers });
      if (status === 401) checked += 1;
      if (status === 503) refused += 1;
    }
  };
  const strangers = Array.from({ length: 130 }, guessOn);
  await until(async () => checked > 0 && refused > 0, { what: "a full line of strangers" });
  const during: number[] = [];
  for (const [i, { email, password }] of people.entries()) {
    const before = checked;
    const headers = { Authorization: basic(email, password), ...from(`192.0.2.${i}`) };
    t.is((await ask(t, logs(service), { headers })).status, 200, email);
    during.push(checked - before);
  }
  flood.abort();
  await Promise.all(strangers);
  t.true(during.toSorted((a, b) => a - b)[6]! < 6, `strangers answered before each: ${during.join(" ")}`);
  t.true(Math.max(...during) < 20, `strangers answered before each: ${during.join(" ")}`);
});

test.serial("guesses refused for lack of room count as guesses", async (t) => {
  const service = await start(t, { ...FEW, ...PROXY });
  service.ports.catalog.authenticate = () => Promise.reject(new LoggiaError("overloaded", "Too many wait"));
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) statuses.push((await ask(t, logs(service), { headers: wrong(i) })).status);
  t.is(statuses[0], 503);
  t.is(statuses.at(-1), 429, statuses.join(" "));
});

test.serial("an account that keeps changing its password leaves others their turn", async (t) => {
  const service = await start(t);
  const eve = { email: "eve@example.org", password: "password of eve" };
  await service.ports.catalog.createAccount({ ...eve, admin: false });
  const account = `${service.apiUrl}/manage/1/accounts/${encodeURIComponent(eve.email)}`;
  const changes = Array.from({ length: 60 }, (_, i) =>
    ask(t, account, {
      method: "PUT",
      headers: { Authorization: basic(eve.email, eve.password), "Content-Type": "application/json" },
      body: JSON.stringify({ password: `password of eve ${i}` }),
    }),
  );
  const { answer, during } = await overtaking(changes, 200, () => ask(t, logs(service), { headers: RIGHT }));
  t.is(answer.status, 200);
  t.true(during < 12, `${during} changes were answered before`);
});
