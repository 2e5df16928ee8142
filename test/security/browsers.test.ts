import test from "ava";

import { ADMIN, AUTHORIZATION, environmentOf, KEY, LOG, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { assertWell, shareService } from "../support/shared-service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { exchange } from "./raw.ts";

let service: Service;
shareService((started) => (service = started));

type Sent = {
  readonly method?: string;
  readonly path: string;
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly to?: "api" | "post";
};
type Answer = { readonly status: number; readonly text: string };

/**
 * Sends a request as a browser does, with a `Host` and `Origin` that no client library would send.
 */
async function send(sent: Sent): Promise<Answer> {
  const { method = "GET", path, headers = {}, body = "", to = "api" } = sent;
  const { port } = service[to]!;
  const host = sent.host ?? `localhost:${port}`;
  const lines = Object.entries({ Host: host, Connection: "close", "Content-Length": body.length, ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const isKept = headers["Connection"] === "keep-alive";
  const { text } = await exchange(
    port,
    `${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`,
    isKept ? { until: /\}$/ } : {},
  );
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text };
}

const asAdmin = { Authorization: AUTHORIZATION };
const FORM = { "Content-Type": "application/x-www-form-urlencoded" };
const JSON_TYPE = { "Content-Type": "application/json" };
const EVENTS = `/1/logs/${LOG}/events`;
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/** Every way to read or change something as a user. */
const CALLS: readonly Sent[] = [
  { path: "/1/logs?fmt=jsonp&callback=steal" },
  { path: "/1/logs" },
  { path: `${EVENTS}?fmt=xml` },
  { path: `/1/logs/${LOG}/query?query=GET+events&fmt=jsonp&callback=steal` },
  { path: `/manage/1/logs/${LOG}/apiKeys` },
  { method: "HEAD", path: EVENTS },
  { method: "POST", path: "/1/logs", headers: FORM, body: "key=stolen&display=x" },
  { method: "DELETE", path: "/1/logs/alerts" },
  { method: "POST", path: "/manage/1/accounts", headers: JSON_TYPE, body: '{"email":"e@example.org"}' },
  { method: "PUT", path: `/manage/1/accounts/${ADMIN.email}`, headers: JSON_TYPE, body: '{"password":"taken-over"}' },
  { method: "PATCH", path: `/manage/1/logs/${LOG}`, headers: JSON_TYPE, body: '{"display":"mine"}' },
];

/** Headers of a browser for a page of another site. The port is filled in. */
const FOREIGN: Readonly<Record<string, Pick<Sent, "host" | "headers">>> = {
  "another site": { headers: { "Sec-Fetch-Site": "cross-site" } },
  "a sibling domain, or another port of localhost": { headers: { "Sec-Fetch-Site": "same-site" } },
  "another site, by its origin alone": { headers: { Origin: "http://evil.example" } },
  "another port of localhost, by its origin alone": { headers: { Origin: "http://localhost:3000" } },
  "a sandboxed frame": { headers: { Origin: "null" } },
  "a name that was rebound, over TLS": { host: "evil.example:PORT", headers: { "Sec-Fetch-Site": "same-origin" } },
  "a name that was rebound": { host: "evil.example:PORT", headers: { Origin: "http://evil.example:PORT" } },
  "a name that was rebound, by its user agent": { host: "evil.example:PORT", headers: { "User-Agent": FIREFOX } },
};

for (const [whose, page] of Object.entries(FOREIGN)) {
  test(`with a user's credentials, the page of ${whose} gets 403 for every request`, async (t) => {
    const fill = (text: string) => text.replace("PORT", String(service.api!.port));
    const host = page.host === undefined ? {} : { host: fill(page.host) };
    const foreign = Object.fromEntries(Object.entries(page.headers ?? {}).map(([name, text]) => [name, fill(text)]));
    for (const call of CALLS) {
      const answer = await send({ ...call, ...host, headers: { ...asAdmin, ...call.headers, ...foreign } });
      t.is(answer.status, 403, `${call.method} ${call.path}`);
      t.false(answer.text.includes(`"key":"${LOG}"`));
      if (page.host !== undefined && call.method !== "HEAD") t.regex(answer.text, /LOGGIA_HOSTS/);
    }
    // Credentials as the whole body, right and wrong ones alike, so that no page can guess through
    // its readers' browsers.
    for (const body of [`${ADMIN.email}:${ADMIN.password}`, `${ADMIN.email}:wrong`]) {
      const call = { method: "DELETE", path: "/1/logs/alerts", headers: { ...FORM, ...foreign }, body };
      t.is((await send({ ...call, ...host })).status, 403, body);
    }
    await assertWell(t, service);
  });

  test(`with an API key, the page of ${whose} reads and posts`, async (t) => {
    const fill = (text: string) => text.replace("PORT", String(service.api!.port));
    const host = page.host === undefined ? {} : { host: fill(page.host) };
    const headers = Object.fromEntries(Object.entries(page.headers ?? {}).map(([name, text]) => [name, fill(text)]));
    const jsonp = "fmt=jsonp&callback=show";
    const read = `/1/logs?${jsonp}&apikey=${KEY}`;
    t.is((await send({ path: read, ...host, headers })).status, 200);
    // The browser adds credentials that it remembers for this service.
    t.is((await send({ path: read, ...host, headers: { ...headers, ...asAdmin } })).status, 200);
    const posted = await send({ path: `${EVENTS}?${jsonp}&apikey=${KEY}&text=hello`, ...host, headers, to: "post" });
    t.is(posted.status, 201);
    const form = { method: "POST", path: EVENTS, body: `apikey=${KEY}&text=hello`, to: "post" } as const;
    t.is((await send({ ...form, ...host, headers: { ...headers, ...FORM } })).status, 201);
  });
}

test("with a user's credentials, the service's own pages and clients other than browsers are answered", async (t) => {
  const own = `http://localhost:${service.api!.port}`;
  for (const headers of [
    { "Sec-Fetch-Site": "same-origin" },
    { "Sec-Fetch-Site": "none", "User-Agent": FIREFOX },
    { Origin: own, "User-Agent": FIREFOX },
    { "User-Agent": FIREFOX },
    {},
  ])
    t.is((await send({ path: "/1/logs", headers: { ...asAdmin, ...headers } })).status, 200, JSON.stringify(headers));
  const elsewhere = { path: "/1/logs", host: "loggia.internal:8080", headers: { ...asAdmin, "User-Agent": "curl/8" } };
  t.is((await send(elsewhere)).status, 200);
});

test("a host in LOGGIA_HOSTS belongs to this service", async (t) => {
  const environment = environmentOf("embedded", temporaryFolder(t));
  const named = await startService({ ...environment, LOGGIA_HOSTS: "logs.example.org, Loggia.internal" });
  t.teardown(() => named.close());
  for (const [host, status] of [
    ["logs.example.org", 200],
    ["loggia.internal:8080", 200],
    ["example.org", 403],
  ] as const) {
    const head = `Host: ${host}\r\nOrigin: https://${host}\r\nAuthorization: ${AUTHORIZATION}\r\nConnection: close`;
    const { text } = await exchange(named.api!.port, `GET /1/logs HTTP/1.1\r\n${head}\r\n\r\n`);
    t.regex(text, new RegExp(`^HTTP/1.1 ${status} `), host);
  }
});

test("management accepts bodies of application/json only, which no form can send", async (t) => {
  const call = { method: "POST", path: "/manage/1/accounts" };
  const body = JSON.stringify({ email: "eve@example.org", password: "correct horse", admin: true });
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "a"]) {
    const answer = await send({ ...call, headers: { ...asAdmin, "Content-Type": type }, body });
    t.is(answer.status, 415, type);
    t.regex(answer.text, /"unsupported_media_type".*application\/json/);
  }
  t.is((await send({ ...call, headers: asAdmin, body })).status, 415, "none");
  for (const type of ["text/plain, application/json", "application/jsonx", "application/json-seq"])
    t.is((await send({ ...call, headers: { ...asAdmin, "Content-Type": type }, body })).status, 415, type);
  const chunked = { ...asAdmin, "Content-Type": "text/plain", "Transfer-Encoding": "chunked" };
  const lines = Object.entries(chunked).map(([name, value]) => `${name}: ${value}\r\n`);
  const rest = `Host: localhost\r\n${lines.join("")}Connection: close\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  t.regex((await exchange(service.api!.port, `POST ${call.path} HTTP/1.1\r\n${rest}`)).text, /^HTTP\/1\.1 415 /);
  const gone = { method: "DELETE", path: `/manage/1/accounts/${ADMIN.email}`, body: "x" };
  t.is((await send({ ...gone, headers: { ...asAdmin, "Content-Type": "text/plain" } })).status, 415);
  t.false((await send({ path: "/manage/1/accounts", headers: asAdmin })).text.includes("eve@example.org"));
  for (const type of ["application/json", "Application/JSON; charset=utf-8"]) {
    const email = `${type.length}@example.org`;
    const made = JSON.stringify({ email, password: "correct horse" });
    t.is((await send({ ...call, headers: { ...asAdmin, "Content-Type": type }, body: made })).status, 201, type);
  }
});

test("no response is cached, in any format", async (t) => {
  const post = { method: "POST", path: EVENTS, to: "post" } as const;
  const answers: Readonly<Record<string, Answer>> = {
    "a post": await send({ ...post, headers: { ...FORM, Connection: "keep-alive" }, body: `apikey=${KEY}&text=a` }),
    "a post by node:http": await send({ ...post, headers: FORM, body: `apikey=${KEY}&text=a` }),
    "a batch": await send({ ...post, headers: { ...JSON_TYPE, "X-API-Key": KEY }, body: '[{"text":"a"}]' }),
    "a bad event": await send({ ...post, headers: FORM, body: `apikey=${KEY}` }),
    "a wrong key": await send({ ...post, headers: FORM, body: "apikey=wrong&text=a" }),
    "a post by JSONP": await send({ path: `${EVENTS}?fmt=jsonp&callback=f&apikey=${KEY}&text=a`, to: "post" }),
    "a list by API key": await send({ path: `${EVENTS}?apikey=${KEY}` }),
    "no address": await send({ path: "/nowhere" }),
    methods: await send({ method: "OPTIONS", path: EVENTS }),
    "the description": await send({ path: "/openapi.json" }),
    "no HTTP": await send({ path: "/ x" }),
    "no HTTP to posting": await send({ path: "/ x", to: "post" }),
    ambiguous: await send({ ...post, headers: { "Transfer-Encoding": "x, chunked" } }),
    CONNECT: await send({ method: "CONNECT", path: "a:1" }),
    ...Object.fromEntries(
      await Promise.all(
        ["/health/live", "/health/ready", "/metrics"].flatMap((path) =>
          (["api", "post"] as const).map(async (to) => [`${path} ${to}`, await send({ path, to })] as const),
        ),
      ),
    ),
  };
  for (const [what, { text }] of Object.entries(answers)) {
    t.regex(text, /^HTTP\/1\.1 \d{3} [^]*\r\nCache-Control: no-cache, no-store\r\n/i, what);
    t.regex(text, /\r\nPragma: no-cache\r\nExpires: -1\r\n/i, what);
  }
});
