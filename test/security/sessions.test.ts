import test from "ava";
import type { ExecutionContext } from "ava";

import { KINDS } from "../support/engine-kinds.ts";
import { ADMIN, AUTHORIZATION, environmentOf, KEY, LOG, startService, STOPPED } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { ask, cookieOf, fromPage, signIn } from "../support/session.ts";
import type { Answered, Asked } from "../support/session.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";
import { until } from "../support/until.ts";

type Kind = (typeof KINDS)[number];

async function serviceWith(t: ExecutionContext, kind: Kind, settings: Record<string, string> = {}): Promise<Service> {
  const service = await startService({ ...environmentOf(kind, temporaryFolder(t)), ...settings }, STOPPED);
  t.teardown(() => service.close());
  return service;
}

const SECRET = /^loggia=[\w-]{43}$/;
const EVENTS = `/1/logs/${LOG}/events`;

/** Every way to read or change something as a user. */
const CALLS: readonly Asked[] = [
  { path: "/1/session" },
  { path: "/1/sessions" },
  { path: "/1/logs" },
  { path: `${EVENTS}?fmt=xml` },
  { path: `/1/logs/${LOG}/query?query=GET+events` },
  { path: `/1/logs/${LOG}/export` },
  { path: `/1/logs/${LOG}/tail` },
  { path: `/manage/1/logs/${LOG}/apiKeys` },
  { method: "HEAD", path: EVENTS },
  { method: "POST", path: "/1/logs", headers: { "Content-Type": FORM() }, body: "key=stolen&display=x" },
  { method: "DELETE", path: "/1/logs/alerts" },
  { method: "DELETE", path: "/1/session" },
  { method: "POST", path: "/manage/1/accounts", json: { email: "e@example.org", password: "password" } },
  { method: "PUT", path: `/manage/1/accounts/${ADMIN.email}`, json: { password: "taken-over" } },
];

function FORM(): string {
  return "application/x-www-form-urlencoded";
}

async function refuses(
  t: ExecutionContext,
  service: Service,
  { headers, status, why }: { headers: NonNullable<Asked["headers"]>; status: number; why: string },
): Promise<void> {
  for (const call of CALLS) {
    const answer = await ask(service, { ...call, headers: { ...call.headers, ...headers } });
    t.is(answer.status, status, `${why}: ${call.method ?? "GET"} ${call.path}`);
    t.is(answer.headers["www-authenticate"], undefined, `${why}: no window of the browser's own`);
    t.is(answer.headers["access-control-allow-origin"], undefined);
  }
}

/** Asserts that no attack had an effect: the session still works. */
async function assertUntouched(t: ExecutionContext, service: Service, cookie: string): Promise<void> {
  const { status, text } = await ask(service, { path: "/1/session", headers: fromPage(cookie) });
  t.is(status, 200);
  t.like(JSON.parse(text), { email: ADMIN.email });
  t.is((await signIn(service)).status, 201, "the password is the old one");
}

for (const kind of KINDS) {
  test(`${kind}: a user signs in with a cookie, is identified by it, and signs out`, async (t) => {
    t.timeout(120_000);
    const service = await serviceWith(t, kind);
    const answer = await signIn(service, { headers: { "User-Agent": "Firefox" } });
    t.is(answer.status, 201);
    const [set, ...others] = answer.headers["set-cookie"] ?? [];
    t.regex(set ?? "", /^loggia=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    t.deepEqual(others, []);
    t.regex(answer.text, /^\{"email":"ann@example.org","admin":true,"expires":"\\\/Date\(\d+\)\\\/"\}$/);
    const page = fromPage(cookieOf(answer));
    const again = await ask(service, { path: "/1/session", headers: page });
    t.deepEqual([again.status, Object.keys(JSON.parse(again.text) as object)], [200, ["email", "admin", "expires"]]);
    t.is((await ask(service, { path: `/1/logs/${LOG}`, headers: page })).status, 200);

    const list = await ask(service, { path: "/1/sessions", headers: page });
    const [own] = JSON.parse(list.text) as Record<string, unknown>[];
    t.like(own, { address: "127.0.0.1", agent: "Firefox", current: true });
    t.deepEqual(Object.keys(own!), ["id", "created", "seen", "address", "agent", "current"]);
    t.false(cookieOf(answer).includes(String(own!["id"])));

    const out = await ask(service, { method: "DELETE", path: "/1/session", headers: page });
    t.is(out.status, 204);
    t.deepEqual(out.headers["set-cookie"], ["loggia=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"]);
    await refuses(t, service, { headers: page, status: 401, why: "signed out" });
    t.is((await ask(service, { path: "/1/session" })).headers["www-authenticate"], undefined);
  });

  test(`${kind}: an old session ends when its cookie is sent with the sign-in, and a planted one is ignored`, async (t) => {
    t.timeout(120_000);
    const service = await serviceWith(t, kind);
    const planted = `loggia=${"A".repeat(43)}`;
    const first = cookieOf(await signIn(service, { headers: { Cookie: planted } }));
    t.regex(first, SECRET);
    t.not(first, planted);
    t.is((await ask(service, { path: "/1/logs", headers: fromPage(planted) })).status, 401);
    const wrong = await signIn(service, { password: "wrong password", headers: { Cookie: first } });
    t.is(wrong.status, 401);
    t.deepEqual([wrong.headers["set-cookie"], wrong.headers["www-authenticate"]], [undefined, undefined]);
    t.is((await ask(service, { path: "/1/logs", headers: fromPage(first) })).status, 200, "a failed one ends nothing");
    const second = cookieOf(await signIn(service, { headers: { Cookie: first } }));
    t.is((await ask(service, { path: "/1/logs", headers: fromPage(first) })).status, 401);
    t.is((await ask(service, { path: "/1/logs", headers: fromPage(second) })).status, 200);
  });

  test(`${kind}: a session ends with its password, in any process`, async (t) => {
    t.timeout(120_000);
    const environment = environmentOf(kind, temporaryFolder(t));
    const here = await startService(environment);
    t.teardown(() => here.close());
    const there = kind === "embedded" ? here : await startService(environment);
    if (there !== here) t.teardown(() => there.close());
    const person = { email: "bob@example.org", password: "first password" };
    const asAdmin = { Authorization: AUTHORIZATION };
    await ask(here, { method: "POST", path: "/manage/1/accounts", json: person, headers: asAdmin });
    const uses = async (cookie: string) => (await ask(there, { path: "/1/session", headers: fromPage(cookie) })).status;
    const account = `/manage/1/accounts/${person.email}`;
    const ends: readonly Asked[] = [
      { method: "PUT", path: account, json: { password: person.password } },
      { method: "DELETE", path: account },
    ];
    for (const end of ends) {
      const cookie = cookieOf(await until(() => signInAt(there, person), { what: "the account to be known" }));
      t.is(await uses(cookie), 200);
      await ask(here, { ...end, headers: asAdmin });
      await until(async () => (await uses(cookie)) === 401, { what: `${end.method} to end the session` });
    }
  });

  test(`${kind}: users end their own sessions from another one, and nobody else's`, async (t) => {
    t.timeout(120_000);
    const service = await serviceWith(t, kind);
    const asAdmin = { Authorization: AUTHORIZATION };
    const person = { email: "bob@example.org", password: "first password" };
    await ask(service, { method: "POST", path: "/manage/1/accounts", json: person, headers: asAdmin });
    const [lost, kept, bob] = [
      cookieOf(await signIn(service)),
      cookieOf(await signIn(service)),
      cookieOf(await signIn(service, person)),
    ];
    const listOf = async (headers: NonNullable<Asked["headers"]>) => {
      const { text } = await ask(service, { path: "/1/sessions", headers });
      return JSON.parse(text) as { id: string; current: boolean }[];
    };
    const sessions = await listOf(fromPage(kept));
    t.deepEqual(
      sessions.map(({ current }) => current),
      [false, true],
    );
    t.deepEqual(
      (await listOf(asAdmin)).map(({ current }) => current),
      [false, false],
      "by e-mail and password none is current",
    );
    const path = `/1/sessions/${sessions[0]!.id}`;
    t.is((await ask(service, { method: "DELETE", path, headers: fromPage(bob) })).status, 404);
    t.is((await ask(service, { method: "DELETE", path, headers: fromPage(kept) })).status, 204);
    t.is((await ask(service, { method: "DELETE", path, headers: fromPage(kept) })).status, 404);
    t.is((await ask(service, { path: "/1/logs", headers: fromPage(lost) })).status, 401);
    t.is((await ask(service, { path: "/1/logs", headers: fromPage(kept) })).status, 200);
  });

  test(`${kind}: a tail ends with the session that opened it`, async (t) => {
    t.timeout(120_000);
    const service = await serviceWith(t, kind);
    const cookie = cookieOf(await signIn(service));
    const headers = fromPage(cookie) as Record<string, string>;
    const tail = await fetch(`${service.apiUrl}/1/logs/${LOG}/tail`, { headers });
    t.is(tail.status, 200);
    await ask(service, { method: "DELETE", path: "/1/session", headers });
    await tail.text();
    t.pass("the answer has an end");
  });
}

async function signInAt(service: Service, person: { email: string; password: string }): Promise<Answered | null> {
  const answer = await signIn(service, person);
  return answer.status === 201 ? answer : null;
}

/** Headers of a browser for a page of another site, which may not use the session. */
const FOREIGN: Readonly<Record<string, Record<string, string>>> = {
  "another site": { "Sec-Fetch-Site": "cross-site" },
  "a sibling domain, or another port": { "Sec-Fetch-Site": "same-site" },
  "an address bar or a bookmark": { "Sec-Fetch-Site": "none" },
  "a sibling whose origin looks right": { "Sec-Fetch-Site": "same-site", Origin: "http://127.0.0.1:PORT" },
  "another site, by its origin": { Origin: "http://evil.example" },
  "another port, by its origin": { Origin: "http://127.0.0.1:3000" },
  "a sandboxed frame": { Origin: "null" },
  "a name that was rebound": { Host: "evil.example:PORT", "Sec-Fetch-Site": "same-origin" },
};

for (const [whose, headersOfPage] of Object.entries(FOREIGN)) {
  test(`the page of ${whose} gets nothing with a session cookie, whatever else it sends`, async (t) => {
    const service = await serviceWith(t, "embedded");
    const cookie = cookieOf(await signIn(service));
    const port = String(service.api!.port);
    const foreign = Object.fromEntries(
      Object.entries(headersOfPage).map(([name, text]) => [name, text.replace("PORT", port)]),
    );
    const headers = { Cookie: cookie, "X-Loggia": "1", ...foreign };
    await refuses(t, service, { headers, status: 403, why: whose });
    const login = await signIn(service, { headers: foreign });
    t.is(login.status, foreign["Sec-Fetch-Site"] === "none" ? 201 : 403, "signing somebody in as oneself");
    await assertUntouched(t, service, cookie);
  });
}

test("a form, link or script of any page gets nothing, because it cannot send the page's header", async (t) => {
  const service = await serviceWith(t, "embedded");
  const cookie = cookieOf(await signIn(service));
  for (const value of [undefined, "", "0", "true", "1, 1"]) {
    const header = value === undefined ? {} : { "X-Loggia": value };
    const sites = [{}, { "Sec-Fetch-Site": "same-origin" }, { Origin: service.apiUrl }];
    for (const site of sites)
      await refuses(t, service, { headers: { Cookie: cookie, ...header, ...site }, status: 403, why: String(value) });
  }
  const body = `email=${ADMIN.email}&password=${ADMIN.password}`;
  for (const type of [FORM(), "text/plain", "multipart/form-data; boundary=x"]) {
    const headers = { "Content-Type": type };
    t.is((await ask(service, { method: "POST", path: "/1/session", headers, body })).status, 415, type);
  }
  const asked = { "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "x-loggia" };
  const preflight = await ask(service, { method: "OPTIONS", path: EVENTS, headers: { Origin: "null", ...asked } });
  t.deepEqual(
    Object.keys(preflight.headers).filter((name) => name.startsWith("access-control")),
    [],
  );
  await assertUntouched(t, service, cookie);
});

test("over plain HTTP, where browsers send no origin headers, the page's header is sufficient", async (t) => {
  const service = await serviceWith(t, "embedded");
  const cookie = cookieOf(await signIn(service));
  const agent = { "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" };
  const headers = { Cookie: cookie, "X-Loggia": "1", ...agent };
  t.is((await ask(service, { path: "/1/logs", headers })).status, 200);
  const host = { ...headers, Host: `evil.example:${service.api!.port}` };
  t.is((await ask(service, { path: "/1/logs", headers: host })).status, 403);
  t.is((await ask(service, { path: "/1/logs", headers: { ...headers, Origin: service.apiUrl } })).status, 200);
});

test("JSONP is never answered with a session", async (t) => {
  const service = await serviceWith(t, "embedded");
  const cookie = cookieOf(await signIn(service));
  const path = "/1/logs?fmt=jsonp&callback=steal";
  for (const headers of [fromPage(cookie), { Cookie: cookie }, { Cookie: cookie, Referer: `${service.apiUrl}/` }]) {
    const answer = await ask(service, { path, headers });
    t.is(answer.status, 403);
    t.false(answer.text.includes(`"${LOG}"`));
  }
  const byKey = await ask(service, { path: `${path}&apikey=${KEY}`, headers: { Cookie: cookie } });
  t.is(byKey.status, 200, "a page that asks by an API key is not held up by the cookie");
});

test("the page's own request uses the session, whatever credentials the browser adds", async (t) => {
  const service = await serviceWith(t, "embedded");
  const bob = { email: "bob@example.org", password: "first password" };
  const asAnn = { Authorization: AUTHORIZATION };
  await ask(service, { method: "POST", path: "/manage/1/accounts", json: bob, headers: asAnn });
  const cookie = cookieOf(await signIn(service, bob));
  const keysOf = async (path: string, headers: NonNullable<Asked["headers"]>) => {
    const { status, text } = await ask(service, { path, headers });
    return status === 200 ? (JSON.parse(text) as { key: string }[]).map(({ key }) => key) : status;
  };
  t.deepEqual(await keysOf("/1/logs", { ...fromPage(cookie), ...asAnn }), [], "Bob's session, with Ann's password");
  t.deepEqual(await keysOf(`/1/logs?apikey=${KEY}`, fromPage(cookie)), [], "Bob's session, with a key");
  t.deepEqual(await keysOf("/1/logs", { Cookie: cookie, ...asAnn }), [LOG], "Ann's password, with Bob's cookie");
  t.deepEqual(await keysOf(`/1/logs?apikey=${KEY}`, { Cookie: cookie }), [LOG], "a key, with Bob's cookie");
  await ask(service, { method: "DELETE", path: "/1/session", headers: fromPage(cookie) });
  t.is(await keysOf("/1/logs", { ...fromPage(cookie), ...asAnn }), 401, "an ended session is nobody else");
  const wrong = { Cookie: cookie, Authorization: `Basic ${btoa(`${bob.email}:wrong`)}` };
  const refused = await ask(service, { path: "/1/logs", headers: wrong });
  t.deepEqual([refused.status, refused.headers["www-authenticate"]], [401, undefined]);
  const bare = await ask(service, { path: "/1/logs", headers: { "X-Loggia": "1" } });
  t.deepEqual([bare.status, bare.headers["www-authenticate"]], [401, undefined]);
  const old = await ask(service, { path: "/1/logs" });
  t.deepEqual([old.status, old.headers["www-authenticate"]], [401, 'Basic realm="Loggia"'], "others are asked as ever");
});

test("with TLS through a trusted proxy only the cookie counts that no other domain can set", async (t) => {
  const service = await serviceWith(t, "embedded", { LOGGIA_TRUSTED_PROXIES: "127.0.0.1" });
  const tls = { "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https" };
  const answer = await signIn(service, { headers: tls });
  const cookie = cookieOf(answer);
  t.regex(
    answer.headers["set-cookie"]?.[0] ?? "",
    /^__Host-loggia=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
  );
  const tossed = cookieOf(await signIn(service));
  const statusOf = async (cookies: string, headers: object = tls) =>
    (await ask(service, { path: "/1/session", headers: { ...fromPage(cookies), ...headers } })).status;
  t.is(await statusOf(cookie), 200);
  t.is(await statusOf(tossed), 401, "set by a sibling domain, or by plain HTTP");
  t.is(await statusOf(`${tossed}; ${cookie}`), 200);
  t.is(await statusOf(`${cookie}; ${tossed}`), 200);
  t.is(await statusOf(cookie, { "X-Forwarded-Proto": "http" }), 401, "the other kind of connection has the other name");
  t.is(await statusOf(tossed, {}), 200);
  const two = `${tossed}; ${cookieOf(await signIn(service))}`;
  t.is(await statusOf(two, {}), 401, "of two, none tells whose is meant");
  t.is(await statusOf(`${tossed}; ${tossed}`, {}), 200);
  const out = await ask(service, { method: "DELETE", path: "/1/session", headers: { ...fromPage(cookie), ...tls } });
  t.regex(out.headers["set-cookie"]?.[0] ?? "", /^__Host-loggia=; .*Secure; Max-Age=0$/);
});

test("a proxy that is not trusted cannot have the other cookie set", async (t) => {
  const service = await serviceWith(t, "embedded");
  t.regex(cookieOf(await signIn(service, { headers: { "X-Forwarded-Proto": "https" } })), SECRET);
});

test("wrong passwords at the sign-in count as guesses, together with those by Basic", async (t) => {
  const service = await serviceWith(t, "embedded", { LOGGIA_RATE_FAILURES: "4" });
  const cookie = cookieOf(await signIn(service));
  const at = (email: string) => ({ email, password: uniqueName("wrong") });
  for (let i = 0; i < 2; i++) t.is((await signIn(service, at("nobody@example.org"))).status, 401);
  for (let i = 0; i < 2; i++) {
    const Authorization = `Basic ${btoa(`other@example.org:wrong ${i}`)}`;
    t.is((await ask(service, { path: "/1/logs", headers: { Authorization } })).status, 401);
  }
  const refused = await signIn(service, at("third@example.org"));
  t.is(refused.status, 429);
  t.regex(refused.headers["retry-after"] ?? "", /^\d+$/);
  t.is((await ask(service, { path: "/1/logs", headers: fromPage(cookie) })).status, 200, "a session goes on");
});

test("requests with a session count for their account, together with those by password", async (t) => {
  const service = await serviceWith(t, "embedded", { LOGGIA_RATE_CALLER: "1" });
  const cookie = cookieOf(await signIn(service));
  const ways = [fromPage(cookie), { Authorization: AUTHORIZATION }];
  const asked = Array.from({ length: 40 }, (_, i) => ask(service, { path: "/1/logs", headers: ways[i % 2]! }));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  const answered = statuses.filter((status) => status === 200).length;
  // Twice the rate of a second may arrive at once.
  t.true(answered <= 2, statuses.join(" "));
  t.is(statuses.filter((status) => status === 429).length, 40 - answered);
});

test("the ticket of the first start signs in once, from this machine only", async (t) => {
  const service = await serviceWith(t, "embedded", { LOGGIA_ADMIN: "" });
  const ticket = service.first?.ticket;
  t.is(typeof ticket, "string");
  const use = (headers = {}) => ask(service, { method: "POST", path: "/1/session", json: { ticket }, headers });
  for (const name of ["X-Forwarded-For", "Forwarded", "Via"])
    t.is((await use({ [name]: "for=192.0.2.1" })).status, 403, name);
  t.is((await use({ "Sec-Fetch-Site": "cross-site" })).status, 403);
  const answer = await use();
  t.is(answer.status, 201);
  t.like(JSON.parse(answer.text), { email: "admin@localhost", admin: true });
  t.is((await ask(service, { path: "/1/logs", headers: fromPage(cookieOf(answer)) })).status, 200);
  t.is((await use()).status, 401);
  const given = await serviceWith(t, "embedded");
  t.falsy(given.first?.ticket, "none is printed where the operator has the password");
});
