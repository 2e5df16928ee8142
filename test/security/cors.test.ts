import test from "ava";

import { AUTHORIZATION, KEY, LOG } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { shareService } from "../support/shared-service.ts";

let service: Service;
shareService((started) => (service = started));

const SHOP = "https://shop.example.org";
const EVENTS = `/1/logs/${LOG}/events`;
/** Every kind of address that accepts posts. */
const PATHS = [
  EVENTS,
  `/1/logs/${LOG}/users`,
  `/1/logs/${LOG}/lines`,
  "/v1/logs",
  "/_bulk",
  `/keys/${KEY}/lines`,
  "/gelf",
];

type Headers = Readonly<Record<string, string>>;

function send(method: string, path: string, headers: Headers, body?: string): Promise<Response> {
  return fetch(service.postUrl + path, { method, headers, ...(body !== undefined && { body }) });
}

function preflight(path: string, origin: string, more: Headers = {}): Promise<Response> {
  return send("OPTIONS", path, { Origin: origin, "Access-Control-Request-Method": "POST", ...more });
}

async function setOrigins(...origins: string[]): Promise<void> {
  const response = await fetch(`${service.apiUrl}/manage/1/logs/${LOG}`, {
    method: "PATCH",
    headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
    body: JSON.stringify({ origins }),
  });
  if (response.status !== 200) throw new Error(await response.text());
}

function allowed({ headers }: Response): string | null {
  return headers.get("Access-Control-Allow-Origin");
}

test.serial("a page of an origin that the log allows may post to every address and read the response", async (t) => {
  await setOrigins(SHOP, "http://localhost:3000");
  for (const path of PATHS) {
    const asked = await preflight(path, SHOP, { "Access-Control-Request-Headers": "authorization, content-type" });
    t.is(asked.status, 204, path);
    t.is(allowed(asked), SHOP);
    t.is(asked.headers.get("Vary"), "Origin");
    t.is(asked.headers.get("Access-Control-Allow-Credentials"), null);
    t.regex(asked.headers.get("Access-Control-Allow-Headers") ?? "", /Authorization, Content-Type/);
    t.is(await asked.text(), "");
  }
  const headers = { Origin: SHOP, Authorization: `Bearer ${KEY}` };
  const lines = await send("POST", "/lines", headers, "hello");
  t.is(lines.status, 201);
  t.is(allowed(lines), SHOP);
  const form = new URLSearchParams({ apikey: KEY, text: "hello" }).toString();
  const posted = await send(
    "POST",
    EVENTS,
    { Origin: SHOP, "Content-Type": "application/x-www-form-urlencoded" },
    form,
  );
  t.is(posted.status, 201);
  t.is(allowed(posted), SHOP);
  const wrong = await send("POST", EVENTS, { ...headers, "Content-Type": "application/json" }, '{"text":""}');
  t.is(wrong.status, 400);
  t.is(allowed(wrong), SHOP, "a fault can be read too");
});

test.serial("an origin that is not exactly one of the log's is refused, however similar", async (t) => {
  await setOrigins(SHOP);
  const others = [
    "null",
    "https://shop.example.org.evil.example",
    "https://evil.example?https://shop.example.org",
    "https://shop.example.org:8443",
    "http://shop.example.org",
    "https://SHOP.example.org",
    "https://shop.example.org, https://evil.example",
    "https://shop.example.org/",
    "https://xshop.example.org",
    "*",
    "",
  ];
  for (const origin of others) {
    for (const path of PATHS) {
      const asked = await preflight(path, origin);
      t.not(asked.status, 204, `${origin} ${path}`);
      t.is(allowed(asked), null, `${origin} ${path}`);
    }
    const posted = await send("POST", "/lines", { Origin: origin, Authorization: `Bearer ${KEY}` }, "hello");
    t.is(allowed(posted), null, origin);
    t.is(posted.headers.get("Vary"), origin === "" ? posted.headers.get("Vary") : "Origin");
  }
});

test.serial("a star allows every page, for its own log only", async (t) => {
  await setOrigins();
  t.is((await preflight(EVENTS, SHOP)).status, 403);
  await setOrigins("*");
  const asked = await preflight(EVENTS, "https://anywhere.example");
  t.is(asked.status, 204);
  t.is(allowed(asked), "*");
  t.is(asked.headers.get("Access-Control-Allow-Credentials"), null);
  t.is(allowed(await preflight("/v1/logs", "https://anywhere.example")), "*");
  await setOrigins();
});

test.serial("a missing log gets the same response as one that allows no origin", async (t) => {
  await setOrigins();
  const named = await preflight(EVENTS, SHOP);
  const unknown = await preflight("/1/logs/nobody/events", SHOP);
  t.is(named.status, unknown.status);
  t.is(await named.text(), await unknown.text());
});

test.serial("a page needs a key like any client, and the API accepts none of its requests", async (t) => {
  await setOrigins(SHOP);
  const response = await send("POST", "/lines", { Origin: SHOP, Authorization: "Bearer wrong" }, "hello");
  t.is(response.status, 401);
  const read = await fetch(`${service.apiUrl}/1/logs/${LOG}/events`, {
    method: "OPTIONS",
    headers: { Origin: SHOP, "Access-Control-Request-Method": "GET" },
  });
  t.is(allowed(read), null);
  const bare = await send("OPTIONS", EVENTS, {});
  t.is(bare.status, 405);
  const nowhere = await preflight("/nothing", SHOP);
  t.is(nowhere.status, 404);
  t.is(allowed(nowhere), null);
});

test.serial("the key's log decides, even if another log allows the origin", async (t) => {
  await setOrigins();
  const created = await fetch(`${service.apiUrl}/1/logs`, {
    method: "POST",
    headers: { Authorization: AUTHORIZATION },
    body: new URLSearchParams({ key: "pages", display: "Pages" }),
  });
  t.true(created.ok, `${created.status} ${await created.clone().text()}`);
  await fetch(`${service.apiUrl}/manage/1/logs/pages`, {
    method: "PATCH",
    headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
    body: JSON.stringify({ origins: [SHOP] }),
  });
  t.is((await preflight("/lines", SHOP)).status, 204);
  const posted = await send("POST", "/lines", { Origin: SHOP, Authorization: `Bearer ${KEY}` }, "hello");
  t.is(posted.status, 201);
  t.is(allowed(posted), null);
});
