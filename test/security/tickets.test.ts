import test from "ava";
import type { ExecutionContext } from "ava";

import { KINDS } from "../support/engine-kinds.ts";
import { AUTHORIZATION, environmentOf, LOG, post, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { ask, cookieOf, fromPage, signIn } from "../support/session.ts";
import type { Answered, Asked } from "../support/session.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

type Kind = (typeof KINDS)[number];
type Headers = NonNullable<Asked["headers"]>;

/** Starts a service; on a cluster two processes that share only the engines. */
async function start(t: ExecutionContext, kind: Kind): Promise<{ here: Service; there: Service }> {
  const environment = environmentOf(kind, temporaryFolder(t));
  const here = await startService(environment);
  t.teardown(() => here.close());
  if (kind === "embedded") return { here, there: here };
  const there = await startService(environment);
  t.teardown(() => there.close());
  return { here, there };
}

const QUERY = "query=GET%20events%20WHERE%20source%20%3D%20'a%20b'&tz=0";
const EXPORT = `/1/logs/${LOG}/export?${QUERY}`;

async function ticketFor(service: Service, cookie: string, path: string): Promise<string> {
  const asked = { method: "POST", path: "/1/session/tickets", json: { path }, headers: fromPage(cookie) };
  const { status, text } = await ask(service, asked);
  if (status !== 201) throw new Error(`${status} ${text}`);
  return (JSON.parse(text) as { ticket: string }).ticket;
}

function withTicket(path: string, ticket: string): string {
  return `${path}${path.includes("?") ? "&" : "?"}ticket=${ticket}`;
}

/** Posts an event with this data, and returns the path of the data once it can be read. */
async function dataOf(service: Service, data: string | null): Promise<string> {
  const { body } = await post(service, { text: "an event", ...(data !== null && { data }) });
  const event = `/1/logs/${LOG}/events/${body.id}`;
  const asAdmin = { Authorization: AUTHORIZATION };
  await until(async () => (await ask(service, { path: event, headers: asAdmin })).status === 200, {
    what: "the event",
  });
  return `${event}/data`;
}

for (const kind of KINDS) {
  test(`${kind}: a ticket opens its path once, in any process, without the page's header`, async (t) => {
    t.timeout(120_000);
    const { here, there } = await start(t, kind);
    const cookie = cookieOf(await signIn(here));
    for (const headers of [{}, { Cookie: cookie, "Sec-Fetch-Site": "same-origin" }]) {
      const path = withTicket(EXPORT, await ticketFor(here, cookie, EXPORT));
      t.is((await ask(there, { path, headers })).status, 200);
      for (const service of [here, there]) {
        const again = await ask(service, { path, headers });
        t.deepEqual([again.status, again.headers["www-authenticate"]], [401, undefined], "replayed");
      }
    }
    const shared = withTicket(EXPORT, await ticketFor(here, cookie, EXPORT));
    const uses = [here, there, here, there].map((service) => ask(service, { path: shared }));
    const statuses = (await Promise.all(uses)).map(({ status }) => status);
    t.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [200, 401, 401, 401],
      "at the same moment",
    );
  });

  test(`${kind}: a ticket opens nothing else, for nobody else, and expires with its session`, async (t) => {
    t.timeout(120_000);
    const { here, there } = await start(t, kind);
    const bob = { email: "bob@example.org", password: "first password" };
    const asAdmin = { Authorization: AUTHORIZATION };
    await ask(here, { method: "POST", path: "/manage/1/accounts", json: bob, headers: asAdmin });
    const [cookie, other] = [cookieOf(await signIn(here)), cookieOf(await signIn(here, bob))];
    const ticket = await ticketFor(here, cookie, EXPORT);
    const statusOf = async (path: string, headers: Headers = {}) => (await ask(there, { path, headers })).status;
    const others = [
      `/1/logs/${LOG}/events`,
      `/1/logs/${LOG}/export`,
      `${EXPORT}&format=csv`,
      `/1/logs/${LOG}/export?tz=0`,
      `/manage/1/logs/${LOG}/apiKeys`,
      "/1/sessions",
      "/1/session",
    ];
    for (const path of others) t.is(await statusOf(withTicket(path, ticket)), 401, path);
    const path = withTicket(EXPORT, ticket);
    t.is((await ask(there, { path, method: "HEAD" })).status, 401);
    t.is((await ask(there, { path: withTicket("/1/logs/alerts", ticket), method: "DELETE" })).status, 401);
    t.is(await statusOf(path, { Cookie: other }), 401, "another person");
    t.is(await statusOf(path, { "Sec-Fetch-Site": "cross-site" }), 403, "another site's page");
    t.is(await statusOf(`${path}&fmt=jsonp&callback=f`), 403, "JSONP");
    t.is(await statusOf(path, { ...asAdmin, Cookie: cookie }), 200, "none of this has used it up");

    const left = withTicket(EXPORT, await ticketFor(here, cookie, EXPORT));
    await ask(here, { method: "DELETE", path: "/1/session", headers: fromPage(cookie) });
    await until(async () => (await statusOf("/1/session", fromPage(cookie))) === 401, { what: "the session to end" });
    t.is(await statusOf(left), 401);
  });

  test(`${kind}: HTML is shown as a sandboxed document of its own, and nothing else is HTML`, async (t) => {
    t.timeout(120_000);
    const { here } = await start(t, kind);
    const html = "<h1>Größe</h1><script>parent.stolen = 1</script>";
    const path = `${await dataOf(here, `@html\n${html}`)}?fmt=html`;
    const cookie = cookieOf(await signIn(here));
    const check = ({ status, headers, text }: Answered): void => {
      t.deepEqual([status, text], [200, html]);
      t.is(headers["content-type"], "text/html; charset=utf-8");
      t.is(headers["content-security-policy"], "sandbox; default-src 'none'; style-src 'unsafe-inline'");
      t.is(headers["x-content-type-options"], "nosniff");
      t.is(headers["referrer-policy"], "no-referrer");
      t.is(headers["x-dns-prefetch-control"], "off");
      t.is(headers["cache-control"], "no-cache, no-store");
    };
    check(await ask(here, { path: withTicket(path, await ticketFor(here, cookie, path)) }));
    check(await ask(here, { path, headers: fromPage(cookie) }));
    const asJson = await ask(here, { path: path.replace("?fmt=html", ""), headers: fromPage(cookie) });
    t.is(asJson.text, JSON.stringify(`@html\n${html}`));

    const windows = `${await dataOf(here, "@html\r\n<b>1</b>")}?fmt=html`;
    t.is((await ask(here, { path: windows, headers: fromPage(cookie) })).text, "<b>1</b>");
    for (const data of [null, html, ` @html\n${html}`, `@html${html}`, "@html", `@HTML\n${html}`]) {
      const refused = await ask(here, { path: `${await dataOf(here, data)}?fmt=html`, headers: fromPage(cookie) });
      t.deepEqual(
        [refused.status, refused.headers["content-type"]],
        [400, "application/json; charset=utf-8"],
        data ?? "",
      );
      t.regex(refused.text, /leave fmt out to read it as text/);
    }
    const list = await ask(here, { path: `/1/logs/${LOG}/events?fmt=html`, headers: fromPage(cookie) });
    t.is(list.status, 400, "no other answer is HTML");
  });
}

test("only the page can request a ticket, for paths of the API", async (t) => {
  const { here } = await start(t, "embedded");
  const cookie = cookieOf(await signIn(here));
  const create = async (path: unknown, headers: Headers = fromPage(cookie)) =>
    (await ask(here, { method: "POST", path: "/1/session/tickets", json: { path }, headers })).status;
  for (const path of ["/1/logs", `/manage/1/logs/${LOG}`, EXPORT, `/1/logs?a=${"b".repeat(10_000)}`])
    t.is(await create(path), 201, path.slice(0, 50));
  const elsewhere = [
    "",
    "1/logs",
    "//evil.example/1/logs",
    "http://evil.example/1/logs",
    "/\\evil.example/1/logs",
    "/",
  ];
  const sessions = ["/1/session", "/1/sessions", "/1/session/tickets", "/1/../1/session"];
  const unclear = ["/2/logs", "/1/logs#a", "/1/logs?ticket=a", `/1/logs?a=${"b".repeat(17_000)}`, 1, null, ["/1/logs"]];
  const wrong = [...elsewhere, ...sessions, ...unclear];
  for (const path of wrong) t.is(await create(path), 400, String(path).slice(0, 50));
  t.is(await create("/1/logs", { Cookie: cookie }), 403);
  t.is(await create("/1/logs", { ...fromPage(cookie), "Sec-Fetch-Site": "same-site" }), 403);
  t.is(await create("/1/logs", { Authorization: AUTHORIZATION }), 401, "only a session has tickets");
  const form = { ...fromPage(cookie), "Content-Type": "text/plain" };
  t.is((await ask(here, { method: "POST", path: "/1/session/tickets", headers: form, body: "{}" })).status, 415);
});

test("a ticket is valid for its path, however that is encoded", async (t) => {
  const { here } = await start(t, "embedded");
  const cookie = cookieOf(await signIn(here));
  const ticket = await ticketFor(here, cookie, EXPORT);
  const other = EXPORT.replaceAll("%20", "+").replaceAll("'", "%27");
  t.is((await ask(here, { path: withTicket(other, ticket) })).status, 200);
});

test("a malformed ticket parameter is ignored, like unknown parameters", async (t) => {
  const { here } = await start(t, "embedded");
  const asAdmin = { Authorization: AUTHORIZATION };
  t.is((await ask(here, { path: "/1/logs?ticket=1", headers: asAdmin })).status, 200);
  const wrong = await ask(here, { path: "/1/logs?ticket=1" });
  t.is(wrong.headers["www-authenticate"], 'Basic realm="Loggia"');
});
