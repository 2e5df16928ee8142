import test from "ava";
import type { ExecutionContext } from "ava";
import { setImmediate as turn } from "node:timers/promises";

import type { LogKey } from "../../src/events/event.ts";
import { ADMIN, AUTHORIZATION, environmentOf, KEY, LOG, post, startService, STOPPED } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

async function start(t: ExecutionContext, settings: Record<string, string> = {}): Promise<Service> {
  const service = await startService({ ...environmentOf("embedded", temporaryFolder(t)), ...settings }, STOPPED);
  t.teardown(() => service.close());
  return service;
}

type Answer = { readonly status: number; readonly retryAfter: string | null; readonly text: string };

async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  return { status: response.status, retryAfter: response.headers.get("Retry-After"), text: await response.text() };
}

const basic = (password: string) => `Basic ${Buffer.from(`${ADMIN.email}:${password}`).toString("base64")}`;

/** Tries this many passwords at once. */
function guess({ apiUrl }: Service, count: number, headers: (i: number) => Record<string, string> = () => ({})) {
  return Promise.all(
    Array.from({ length: count }, (_, i) =>
      ask(`${apiUrl}/1/logs`, { headers: { Authorization: basic(`guess ${i}`), ...headers(i) } }),
    ),
  );
}

/** Fewer than by default, so that they are soon used up. */
const FEW = { LOGGIA_RATE_FAILURES: "5" };

test.serial("passwords can be guessed a few times a minute, then every one is 429", async (t) => {
  const service = await start(t, FEW);
  const answers: Answer[] = [];
  for (let i = 0; i < 12 && answers.at(-1)?.status !== 429; i++) {
    answers.push(await ask(`${service.apiUrl}/1/logs`, { headers: { Authorization: basic(`guess ${i}`) } }));
  }
  const last = answers.at(-1)!;
  t.is(last.status, 429);
  t.true(Number(last.retryAfter) >= 1 && Number(last.retryAfter) <= 12, `Retry-After: ${last.retryAfter}`);
  t.true(answers.slice(0, -1).every(({ status }) => status === 401));
  t.true(answers.length >= 6 && answers.length < 9, `${answers.length} guesses were let through`);
  const right = [
    { headers: { Authorization: AUTHORIZATION } },
    { method: "DELETE", body: `${ADMIN.email}:${ADMIN.password}` },
  ];
  for (const init of right)
    t.is((await ask(`${service.apiUrl}/1/logs/alerts`, init)).status, 429, "a right guess is not confirmed");
});

test.serial("concurrent guesses have the same limit", async (t) => {
  const service = await start(t, FEW);
  // As many as may wait for their check at once; those refused for lack of room count too.
  const answers = await guess(service, 20);
  t.true(answers.every(({ status }) => status === 401 || status === 429 || status === 503));
  const checked = answers.filter(({ status }) => status === 401).length;
  t.true(checked >= 5 && checked < 9, `${checked} were checked`);
  const next = await ask(`${service.apiUrl}/1/logs`, { headers: { Authorization: AUTHORIZATION } });
  t.is(next.status, 429);
});

test.serial("the default is twenty a minute", async (t) => {
  const service = await start(t);
  const answers = [...(await guess(service, 20)), ...(await guess(service, 20))];
  t.true(answers.filter(({ status }) => status === 401).length >= 20);
  t.is((await ask(`${service.apiUrl}/1/logs`, { headers: { Authorization: AUTHORIZATION } })).status, 429);
});

test.serial("a key not used from an address waits during guesses from there, like a wrong one", async (t) => {
  const service = await start(t, FEW);
  await guess(service, 60);
  const answerTo = async (key: string) => {
    const { status, text } = await ask(`${service.apiUrl}/1/logs/${LOG}/events?apikey=${key}`);
    return { status, text };
  };
  const right = await answerTo(KEY);
  t.is(right.status, 429);
  t.deepEqual(await answerTo(`${KEY}x`), right);
});

test.serial("guesses at keys have the same limit, at each address", async (t) => {
  for (const at of ["post", "api"] as const) {
    const service = await start(t, FEW);
    const tryKey = (apikey: string) =>
      at === "api"
        ? ask(`${service.apiUrl}/1/logs?apikey=${apikey}`)
        : ask(`${service.postUrl}/1/logs/${LOG}/events`, {
            method: "POST",
            body: new URLSearchParams({ apikey, text: "x" }),
          });
    const statuses: number[] = [];
    for (let i = 0; i < 40 && statuses.at(-1) !== 429; i++) statuses.push((await tryKey(`lg_guess${i}`)).status);
    t.is(statuses.at(-1), 429);
    t.true(statuses.length >= 6 && statuses.length < 12, `${statuses.length} guesses were let through at ${at}`);
    t.is((await tryKey(KEY)).status, 429, "the right one too, so that a right guess is not confirmed");
    const metrics = await (await fetch(`${service.apiUrl}/metrics`)).text();
    t.regex(metrics, /^loggia_refused_total\{reason="failures"\} [1-9]/m);
  }
});

test.serial("an address that a client writes into a header is ignored", async (t) => {
  const service = await start(t, FEW);
  const forged = (i: number) => ({
    "X-Forwarded-For": `198.51.100.${i}`,
    "X-Real-IP": `198.51.100.${i}`,
    Forwarded: `for=198.51.100.${i}`,
    "X-Client-IP": `198.51.100.${i}`,
  });
  await guess(service, 20, forged);
  t.is((await guess(service, 1, () => forged(99)))[0]!.status, 429);
});

test.serial("behind a trusted proxy each client has a rate of its own, whatever it forwards", async (t) => {
  const service = await start(t, { ...FEW, LOGGIA_TRUSTED_PROXIES: "127.0.0.1" });
  const attacker = (i: number) => ({ "X-Forwarded-For": `203.0.113.${i}, 198.51.100.1` });
  await guess(service, 20, attacker);
  t.is((await guess(service, 1, () => attacker(99)))[0]!.status, 429);
  const other = { headers: { Authorization: AUTHORIZATION, "X-Forwarded-For": "198.51.100.1, 198.51.100.2" } };
  t.is((await ask(`${service.apiUrl}/1/logs`, other)).status, 200);
});

test.serial("requests are limited per address, and per key from any address", async (t) => {
  const byAddress = await start(t, { LOGGIA_RATE_ADDRESS: "1" });
  const urls = [
    `${byAddress.apiUrl}/1/logs`,
    `${byAddress.postUrl}/1/logs/${LOG}/events`,
    `${byAddress.apiUrl}/nowhere`,
  ];
  for (const url of urls) {
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(url)));
    const refused = answers.filter(({ status }) => status === 429);
    t.true(refused.length > 0, url);
    t.true(refused.every(({ retryAfter, text }) => retryAfter === "1" && text.includes('"too_many_requests"')));
  }
  t.is((await ask(`${byAddress.apiUrl}/health/live`)).status, 200, "who watches is not held back");

  const byKey = await start(t, { LOGGIA_RATE_CALLER: "1", LOGGIA_TRUSTED_PROXIES: "127.0.0.1" });
  const posts = await Promise.all(
    Array.from({ length: 30 }, (_, i) => {
      const body = new URLSearchParams({ apikey: KEY, text: "hello" });
      const headers = { "X-Forwarded-For": `198.51.100.${i}` };
      return ask(`${byKey.postUrl}/1/logs/${LOG}/events`, { method: "POST", body, headers });
    }),
  );
  const statuses = posts.map(({ status }) => status);
  t.true(statuses.includes(429) && statuses.includes(201), statuses.join(" "));
});

test.serial("an account is one caller, whatever its logs and keys", async (t) => {
  const service = await start(t, { LOGGIA_RATE_CALLER: "1" });
  const { catalog } = service.ports;
  const owner = catalog.account(ADMIN.email)!.id;
  const made = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      catalog.createLog({ key: `log-${n}` as LogKey, display: "One of many", owner }),
    ),
  );
  const ways = {
    form: (log: string, apikey: string) =>
      ask(`${service.postUrl}/1/logs/${log}/events`, {
        method: "POST",
        body: new URLSearchParams({ apikey, text: "x" }),
      }),
    json: (log: string, key: string) =>
      ask(`${service.postUrl}/1/logs/${log}/events`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-API-Key": key },
        body: '{"text":"x"}',
      }),
    list: (log: string, key: string) => ask(`${service.apiUrl}/1/logs/${log}/events?apikey=${key}`),
  };
  for (const [name, way] of Object.entries(ways)) {
    const answers = await Promise.all(made.map(({ log, apiKey }) => way(log.key, apiKey.secret)));
    t.true(
      answers.some(({ status }) => status === 429),
      `${name}: each key came once`,
    );
  }
});

test.serial("a caller without pause gets 429, and delays neither other analysts nor producers", async (t) => {
  t.timeout(120_000);
  const service = await start(t, { LOGGIA_RATE_QUERIES: "1" });
  const { catalog } = service.ports;
  const pair = { email: "bob@example.org", password: "battery staple" };
  await catalog.createAccount({ ...pair, admin: false });
  await catalog.share(LOG as LogKey, pair.email, "user");
  const headers = { Authorization: `Basic ${Buffer.from(`${pair.email}:${pair.password}`).toString("base64")}` };
  const keys = await Promise.all(Array.from({ length: 12 }, () => catalog.createApiKey(LOG as LogKey, "read-only")));
  const batch = JSON.stringify(
    Array.from({ length: 5_000 }, (_, i) => ({
      text: `event ${i} ${"abc ".repeat(80)}`,
      source: `source ${i}`,
      value: i,
    })),
  );
  for (let i = 0; i < 4; i++) {
    const headers = { "Content-Type": "application/json", "X-API-Key": KEY };
    t.is((await ask(`${service.postUrl}/1/logs/${LOG}/events`, { method: "POST", headers, body: batch })).status, 201);
  }
  const count = () => ask(`${service.apiUrl}/1/logs/${LOG}/query?apikey=${KEY}&query=GET+events+GROUPBY+DAY`);
  await until(async () => (await count()).text.includes('"count":"20000"'), { what: "all events" });

  const heavy = encodeURIComponent(`GET events WHERE text MATCHES '(a|b|c| )*x${"y?".repeat(20)}$' GROUPBY source`);
  let [running, most, started, ended] = [0, 0, 0, 0];
  /** Ends after each round, so that the caller's query outlasts the others' requests by design. */
  let round = Promise.withResolvers<void>();
  const { store } = service.ports;
  const group = store.group.bind(store);
  store.group = async (...given) => {
    running += 1;
    started += 1;
    most = Math.max(most, running);
    try {
      const groups = await group(...given);
      await round.promise;
      return groups;
    } finally {
      running -= 1;
      ended += 1;
    }
  };
  const flood: Promise<Answer>[] = [];
  const attack = async () => {
    for (let i = 0; i < 400; i++)
      flood.push(ask(`${service.apiUrl}/1/logs/${LOG}/query?apikey=${keys[i % keys.length]!.secret}&query=${heavy}`));
    await until(() => running === 1, { what: "a query of the flood to run" });
  };
  const metrics = async () => {
    const { text } = await ask(`${service.apiUrl}/metrics`);
    const waiting = Number(/^loggia_queries_waiting (\d+)$/m.exec(text)?.[1]);
    return { waiting, refused: Number(/^loggia_refused_total\{reason="queries"\} (\d+)$/m.exec(text)?.[1]) };
  };
  await attack();
  /** Rounds in which others were served while the same queries of the flood waited before and after. */
  let overtaking = 0;
  for (let i = 0, again = 0; i < 10 || (overtaking === 0 && again < 5); i++) {
    const before = { ...(await metrics()), started, ended };
    t.is((await post(service, { text: "beside" })).status, 201);
    t.is((await ask(`${service.apiUrl}/1/logs/${LOG}/events?pagesize=1`, { headers })).status, 200);
    const after = { ...(await metrics()), started, ended };
    t.is(after.ended, before.ended);
    const areSame = after.refused === before.refused && after.started === before.started;
    if (before.waiting > 0 && areSame) overtaking += 1;
    round.resolve();
    round = Promise.withResolvers();
    await turn();
    // On a slow machine, waiting queries are refused before the others are served.
    if (i >= 9 && overtaking === 0 && after.waiting === 0) {
      again += 1;
      await attack();
    }
  }
  round.resolve();
  const answers = await Promise.all(flood);
  t.true(overtaking > 0, "others were served only once waiting queries of the flood had ended");
  t.is(most, 1, "twelve keys are one person's");
  t.true(ended > 0, "the flood goes on");
  const refused = answers.filter(({ status }) => status === 429);
  t.true(refused.length > 0 && refused.every(({ retryAfter }) => retryAfter !== null), "the flood is refused in part");
  t.true(
    answers.every(({ status }) => status === 200 || status === 429),
    answers.map(({ status }) => status).join(" "),
  );
});

test.serial("changes of the embedded catalog yield the thread", async (t) => {
  const service = await start(t);
  let turns = 0;
  const over = new AbortController();
  const counting = (async () => {
    for (; !over.signal.aborted; turns++) await turn();
  })();
  const changes = Array.from({ length: 500 }, (_, n) =>
    service.ports.catalog.updateLog(LOG as LogKey, { display: `Name ${n}` }),
  );
  await Promise.all(changes);
  over.abort();
  const during = turns;
  await counting;
  t.true(during >= 3, `${during} turns during 500 changes`);
});
