import test from "ava";

import { parseLogKey } from "../../src/events/event.ts";
import type { LogKey, StoredEvent } from "../../src/events/event.ts";
import { createIdSource } from "../../src/events/id.ts";
import { textPattern } from "../../src/events/pattern.ts";
import { hashText } from "../../src/events/hash.ts";
import { API_ENDPOINTS } from "../support/endpoints.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { serviceOf } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { uniqueName } from "../support/temporary.ts";
import { writeAlerts, writeEvents } from "../support/write-events.ts";

/** Values for the parameters of a path. */
type Names = Readonly<Record<"log" | "id" | "apiKey" | "key" | "email", string>>;

const ROUTES = [...API_ENDPOINTS.values()].filter(({ path }) => path.includes(":"));

const PASSWORD = "correct horse";
const FILTER = { display: "", color: "red", tag: "a", text: "", link: "", source: "", weight: 0 };
const nextId = createIdSource();

async function createTenant({ ports: { catalog, store } }: Service) {
  const account = await catalog.createAccount({
    email: `${uniqueName("tenant")}@example.org`,
    password: PASSWORD,
    admin: false,
  });
  const log = parseLogKey(uniqueName("log")) as LogKey;
  const { apiKey } = await catalog.createLog({ key: log, display: "A log", owner: account.id });
  const { key } = await catalog.createClassFilter(log, { ...FILTER, key: uniqueName("class") });
  /** Returns an event that the tenant has bookmarked and was alerted of. */
  const createEvent = async (): Promise<string> => {
    const { id, created } = nextId();
    const absent = { link: "", tags: [], source: "", user: "", value: null, geo: null, class: null, attributes: null };
    const made = { hash: hashText("one"), pattern: textPattern("one") };
    const event: StoredEvent = { id, created, log, text: "one", data: "more", ...made, ...absent };
    const outcomes = [
      ...(await writeEvents(store, [event])),
      ...(await writeAlerts(store, [{ user: account.id, event }])),
    ];
    if (outcomes.some(({ kind }) => kind !== "done")) throw new Error("the event could not be written");
    await store.addBookmark(account.id, log, id);
    return id;
  };
  const names: Names = { log, id: await createEvent(), apiKey: apiKey.id, key, email: account.email };
  const authorization = `Basic ${Buffer.from(`${account.email}:${PASSWORD}`).toString("base64")}`;
  return { account, log, names, authorization, secret: apiKey.secret, createEvent };
}

/** Names of the same form that do not exist. */
function absentNames(): Names {
  return {
    log: uniqueName("log"),
    id: nextId().id,
    apiKey: "0123456789abcdef",
    key: uniqueName("class"),
    email: `${uniqueName("tenant")}@example.org`,
  };
}

/** Returns everything in a response, without the names that the caller gave. */
async function ask(
  service: Service,
  method: string,
  path: string,
  names: Names,
  init: { authorization?: string; apikey?: string },
) {
  const spelt = path.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(name === "id" && path.includes("apiKeys") ? names.apiKey : names[name as keyof Names]),
  );
  const url = new URL(service.apiUrl + spelt);
  if (path.endsWith("/query")) url.searchParams.set("query", "GET events");
  if (init.apikey !== undefined) url.searchParams.set("apikey", init.apikey);
  const endpoint = API_ENDPOINTS.get(`${method} ${path}`);
  const body = endpoint?.json
    ? JSON.stringify({
        scope: "read-only",
        disabled: true,
        role: "user",
        display: "x",
        key: "x",
        color: "red",
        tag: "a",
        alert: true,
      })
    : new URLSearchParams({ id: names.id });
  const hasBody = method !== "GET" && method !== "DELETE";
  const response = await fetch(url, {
    method,
    headers: init.authorization === undefined ? {} : { Authorization: init.authorization },
    ...(hasBody && { body }),
  });
  let text = await response.text();
  for (const [name, value] of Object.entries(names)) text = text.replaceAll(value, `<${name}>`);
  const headers = [...response.headers]
    .filter(([name]) => name !== "date")
    .map(([name, value]) => (name === "content-length" ? name : `${name}: ${value}`));
  return { status: response.status, text, headers };
}

for (const kind of KINDS) {
  test(`${kind}: no route distinguishes another tenant's records from missing ones, by account and by key`, async (t) => {
    t.timeout(120_000);
    const service = await serviceOf(t, kind);
    const [mine, other] = [await createTenant(service), await createTenant(service)];
    let compared = 0;
    for (const { method, path } of ROUTES) {
      for (const init of [{ authorization: mine.authorization }, { apikey: mine.secret }, {}]) {
        // Another tenant's log, whether or not the record in it exists.
        const theirs = await ask(service, method, path, other.names, init);
        const nobodys = await ask(service, method, path, absentNames(), init);
        t.deepEqual(theirs, nobodys, `${method} ${path} in another's log`);
        t.true(theirs.status >= 400, `${method} ${path} ${theirs.status}`);
        // Sharing one's own log is not an attack, and has to reveal which accounts exist.
        const shares = method === "PUT" && path.endsWith("/shares/:email");
        if (path.includes(":log") && /:(id|key|email)/.test(path) && !shares) {
          // One's own log, with a name that exists in another tenant's.
          const moved = await ask(service, method, path, { ...other.names, log: mine.log }, init);
          const absent = await ask(service, method, path, { ...absentNames(), log: mine.log }, init);
          t.deepEqual(moved, absent, `${method} ${path} with another's record`);
        }
        compared += 1;
      }
    }
    t.true(compared > 100, `${compared} answers were compared`);
    const { store, catalog } = service.ports;
    await store.refresh();
    t.not(await store.find({ kind: "events" }, other.log, other.names.id as never), null, "and nothing was done");
    t.is(catalog.log(other.log)?.display, "A log");
    t.is(catalog.log(other.log)?.apiKeys.length, 1);
    t.is(catalog.classFilters(other.log).length, 1);
  });

  test(`${kind}: a deleted record reads like one that never existed`, async (t) => {
    const service = await serviceOf(t, kind);
    const mine = await createTenant(service);
    const init = { authorization: mine.authorization };
    const { store, catalog } = service.ports;
    await store.deleteEvent(mine.log, mine.names.id as never);
    await catalog.deleteClassFilter(mine.log, mine.names.key);
    await catalog.deleteApiKey(mine.log, mine.names.apiKey);
    await store.refresh();
    for (const { method, path } of ROUTES.filter(({ path }) => /:log.*:(id|key)/.test(path))) {
      const deleted = await ask(service, method, path, mine.names, init);
      const absent = await ask(service, method, path, { ...absentNames(), log: mine.log }, init);
      t.deepEqual(deleted, absent, `${method} ${path}`);
      t.true(deleted.status >= 400, `${method} ${path} ${deleted.status}`);
    }
    // A bookmark of it is refused with the error for missing events.
    const route = "/1/logs/:log/bookmarks";
    const again = await ask(service, "POST", route, mine.names, init);
    const never = await ask(service, "POST", route, { ...absentNames(), log: mine.log }, init);
    t.deepEqual(again, never);
    t.is(again.status, 404);
  });

  test(`${kind}: creating a log reveals that its name is taken and nothing else, at most ten times a minute`, async (t) => {
    const service = await serviceOf(t, kind);
    const [mine, other] = [await createTenant(service), await createTenant(service)];
    const create = async (key: string) => {
      const body = new URLSearchParams({ key, display: "A log" });
      const headers = { Authorization: mine.authorization };
      return fetch(`${service.apiUrl}/1/logs`, { method: "POST", headers, body });
    };
    const taken = await create(other.log);
    const own = await create(mine.log);
    t.is(taken.status, 409);
    t.is(
      (await taken.text()).replaceAll(other.log, "<log>"),
      (await own.text()).replaceAll(mine.log, "<log>"),
      "whose the log is, and what is in it, stays untold",
    );
    let last = taken;
    for (let n = 0; n < 10 && last.status === 409; n++) last = await create(other.log);
    t.is(last.status, 429);
    t.true(Number(last.headers.get("Retry-After")) > 0);
    t.regex(await last.text(), /10 logs a minute/);
    const absent = await create(uniqueName("absent"));
    t.is(absent.status, 429, "then the answer no longer shows whether the log exists");
    t.is((await create(mine.log)).status, 409, "one's own logs are no secret");
  });

  test(`${kind}: posting answers a wrong key, another log's key and a missing log in the same way`, async (t) => {
    const service = await serviceOf(t, kind);
    const [mine, other] = [await createTenant(service), await createTenant(service)];
    const disabled = await service.ports.catalog.createApiKey(mine.log, "read-write");
    await service.ports.catalog.setApiKeyDisabled(mine.log, disabled.id, true);
    const answerTo = async (log: string, apikey: string) => {
      const url = `${service.postUrl}/1/logs/${log}/events`;
      const response = await fetch(url, { method: "POST", body: new URLSearchParams({ apikey, text: "hello" }) });
      return `${response.status} ${await response.text()}`;
    };
    const answers = new Set([
      await answerTo(mine.log, "lg_nobodyhasthiskey"),
      await answerTo(mine.log, other.secret),
      await answerTo(mine.log, disabled.secret),
      await answerTo(other.log, mine.secret),
      await answerTo(uniqueName("absent"), mine.secret),
      await answerTo("not a key at all!", mine.secret),
    ]);
    t.is(answers.size, 1, [...answers].join("\n"));
    t.regex([...answers][0]!, /^401 /);
    const keyless = new Set([
      await answerTo(mine.log, ""),
      await answerTo(other.log, ""),
      await answerTo(uniqueName("absent"), ""),
      await answerTo("not a key at all!", ""),
    ]);
    t.is(keyless.size, 1, [...keyless].join("\n"));
    t.regex([...keyless][0]!, /^401 .*has no API key/);
  });
}
