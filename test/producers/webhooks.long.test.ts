import definitions from "@octokit/webhooks-examples" with { type: "json" };
import { sign } from "@octokit/webhooks-methods";
import test from "ava";
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";

import { parseLogKey } from "../../src/events/event.ts";
import { freePorts } from "../../infra/engines/ports.ts";
import { Program } from "../chaos/program.ts";
import { eventsOf, send } from "../ingest/posting.ts";
import type { Listed } from "../ingest/posting.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

type Example = Readonly<Record<string, unknown>>;
// The module's types say that the list is under `default`; in fact it is the export.
const EXAMPLES = definitions as unknown as readonly { readonly name: string; readonly examples: readonly unknown[] }[];

const SECRET = "It's a Secret to Everybody".replaceAll(" ", "-");

/** Signs and sends a delivery as GitHub does. */
async function deliver(url: { postUrl: string }, name: string, payload: Example, delivery: string, secret = SECRET) {
  const body = JSON.stringify(payload);
  return await send(url, `/1/logs/${LOG}/hooks/github`, body, {
    headers: {
      "Content-Type": "application/json",
      "X-GitHub-Event": name,
      "X-GitHub-Delivery": delivery,
      "X-Hub-Signature-256": await sign(secret, body),
      apikey: "",
    },
  });
}

for (const kind of KINDS) {
  test(`${kind}: every example of GitHub, signed by Octokit, becomes an event with a readable text`, async (t) => {
    t.timeout(120_000);
    const service = await serviceOf(t, kind);
    await service.ports.catalog.createHook(parseLogKey(LOG)!, { name: "github", secret: SECRET });
    const deliveries = EXAMPLES.flatMap(({ name, examples }) =>
      examples.map((payload) => ({ name, payload: payload as Example })),
    );
    t.true(deliveries.length > 300);
    for (const [n, { name, payload }] of deliveries.entries()) {
      const { status, text } = await deliver(service, name, payload, `delivery-${n}`);
      t.is(status, 200, `${name}: ${text}`);
      t.deepEqual(JSON.parse(text), { accepted: 1 });
      // Redelivered, as when GitHub got no response in time.
      if (n % 10 === 0)
        t.deepEqual(JSON.parse((await deliver(service, name, payload, `delivery-${n}`)).text), { accepted: 0 });
    }
    const events = await eventsOf(service, deliveries.length);
    t.is(events.length, deliveries.length, "a delivery that comes again is stored once");
    const byName = (name: string, action?: string): readonly Listed[] =>
      events.filter(({ tags }) => tags.includes(name) && (action === undefined || tags.includes(action)));
    for (const { name, examples } of EXAMPLES) {
      t.is(events.filter(({ attributes }) => attributes?.["event"] === name).length, examples.length, name);
    }
    for (const { text, tags, attributes } of events) {
      t.notRegex(text, /undefined|\[object|NaN|^\{| {2}/, text);
      t.false(tags.includes("cut"), text);
      t.true(Object.keys(attributes!).length > 3);
      t.deepEqual(
        Object.keys(attributes!).filter((key) => /(?<!html)_url$|node_id$/.test(key)),
        [],
      );
    }
    t.true(
      byName("push").some(({ text }) => text.startsWith("Codertocat pushed tag simple-tag of Codertocat/Hello-World")),
    );
    t.like(
      byName("pull_request", "opened").find(({ user }) => user === "Codertocat"),
      {
        text: "Codertocat opened pull request #2 of Codertocat/Hello-World: Update the README with new information.",
        source: "Codertocat/Hello-World",
        link: "https://github.com/Codertocat/Hello-World/pull/2",
      },
    );
    t.like(
      byName("check_run", "completed").find(({ tags }) => tags.includes("error")),
      {
        text: "Check Octocoders-linter of Codertocat/Hello-World: failure",
      },
    );
  });
}

test("a delivery that Octokit signed with another secret, or for another body, is refused and stores nothing", async (t) => {
  const service = await serviceOf(t, "embedded");
  await service.ports.catalog.createHook(parseLogKey(LOG)!, { name: "github", secret: SECRET });
  const payload = { zen: "Keep it logically awesome." };
  t.is((await deliver(service, "ping", payload, "1", `${SECRET}x`)).status, 401);
  const signature = await sign(SECRET, JSON.stringify(payload));
  const post = (body: string, headers: Record<string, string>) =>
    send(service, `/1/logs/${LOG}/hooks/github`, body, { headers: { "X-GitHub-Event": "ping", ...headers } });
  for (const headers of [
    { "X-Hub-Signature-256": signature.replace("sha256=", "") },
    { "X-Hub-Signature-256": signature.slice(0, -1) },
    { "X-Hub-Signature-256": "sha256=" },
    { "X-Hub-Signature-256": `${signature}00` },
    // GitHub signs by SHA-1 there; others name SHA-256 there as well.
    { "X-Hub-Signature": `sha1=${createHmac("sha1", SECRET).update(JSON.stringify(payload)).digest("hex")}` },
    { "X-Hub-Signature": await sign(`${SECRET}x`, JSON.stringify(payload)) },
    { Authorization: `Bearer ${KEY}` },
  ]) {
    t.is((await post(JSON.stringify(payload), headers)).status, 401, JSON.stringify(headers));
  }
  t.is((await post(`${JSON.stringify(payload)} `, { "X-Hub-Signature-256": signature })).status, 401);
  t.is((await post(JSON.stringify(payload), { "X-Hub-Signature-256": signature })).status, 200);
  t.is((await eventsOf(service, 1)).length, 1);
});

test("a generated secret verifies signatures of standardwebhooks, whose ids are stored once", async (t) => {
  const service = await serviceOf(t, "embedded");
  const made = await service.ports.catalog.createHook(parseLogKey(LOG)!, { name: "billing", signature: "standard" });
  const signer = new Webhook(made.secret!);
  const other = new Webhook(`whsec_${Buffer.alloc(32, 7).toString("base64")}`);
  const body = JSON.stringify({ type: "invoice.paid", message: "Invoice 17 was paid", data: { amount: 12.5 } });
  const post = (id: string, at: Date, signature: string, prefix = "webhook", more: Record<string, string> = {}) =>
    send(service, `/1/logs/${LOG}/hooks/billing`, body, {
      headers: {
        "Content-Type": "application/json",
        [`${prefix}-id`]: id,
        [`${prefix}-timestamp`]: String(Math.floor(at.getTime() / 1000)),
        [`${prefix}-signature`]: signature,
        apikey: "",
        ...more,
      },
    });
  const now = new Date();
  // Times near the tolerance are taken when they are sent.
  const before = (seconds: number) => new Date(Date.now() - seconds * 1000);
  t.is((await post("msg_1", now, signer.sign("msg_1", now, body))).status, 200);
  t.deepEqual(JSON.parse((await post("msg_1", now, signer.sign("msg_1", now, body))).text), { accepted: 0 });
  // While a sender rotates its secret it signs with both.
  const both = `v1a,bm90aGluZw== ${other.sign("msg_2", now, body)} ${signer.sign("msg_2", now, body)}`;
  t.is((await post("msg_2", now, both)).status, 200);
  const early = before(280);
  t.is((await post("msg_3", early, signer.sign("msg_3", early, body))).status, 200);
  t.is((await post("msg_4", now, signer.sign("msg_4", now, body), "svix")).status, 200);
  // A captured signed body cannot be sent as another delivery with unsigned headers.
  for (const [id, prefix, more] of [
    ["msg_1", "webhook", { "X-GitHub-Delivery": "new" }],
    ["msg_1", "webhook", { "svix-id": "new", "Idempotency-Key": "new" }],
    ["msg_4", "svix", { "webhook-id": "new" }],
  ] as const) {
    const again = await post(id, now, signer.sign(id, now, body), prefix, more);
    t.deepEqual(JSON.parse(again.text), { accepted: 0 }, JSON.stringify(more));
  }
  for (const seconds of [320, -320]) {
    const at = before(seconds);
    t.is((await post("msg_5", at, signer.sign("msg_5", at, body))).status, 401, `${seconds} s ago`);
  }
  for (const signature of [
    signer.sign("msg_1", now, body),
    signer.sign("msg_5", new Date(now.getTime() - 1_000), body),
    other.sign("msg_5", now, body),
    signer.sign("msg_5", now, body).replace("v1,", "v2,"),
    "v1,",
    "v1",
  ]) {
    t.is((await post("msg_5", now, signature)).status, 401, signature);
  }
  const events = await eventsOf(service, 4);
  t.is(events.length, 4);
  t.like(events[0], { text: "Invoice 17 was paid", attributes: { type: "invoice.paid", "data.amount": 12.5 } });
});

test("a redelivery after a kill is stored once", async (t) => {
  t.timeout(300_000);
  const folder = temporaryFolder(t);
  const [api = 0, post = 0] = await freePorts(2);
  const environment = {
    ...environmentOf("embedded", folder),
    LOGGIA_API: `127.0.0.1:${api}`,
    LOGGIA_POST: `127.0.0.1:${post}`,
  };
  await using program = await Program.start({ name: "hooks", folder, environment });
  const url = { postUrl: `http://127.0.0.1:${post}` };
  const made = await fetch(`http://127.0.0.1:${api}/manage/1/logs/${LOG}/hooks`, {
    method: "POST",
    headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "github", signature: "github" }),
  });
  const { secret } = (await made.json()) as { secret: string };
  // A busy machine may let the service refuse a delivery with 503, which is then sent again.
  const delivered = async (zen: string, delivery: string): Promise<void> => {
    const answered = async () => {
      const answer = await deliver(url, "ping", { zen }, delivery, secret);
      return answer.status === 503 ? null : answer;
    };
    const { status, text } = await until(answered, { what: `${zen} to be taken`, interval_ms: 500 });
    t.is(status, 200, text);
  };
  await delivered("one", "a");
  await program.kill();
  await program.start();
  await delivered("one", "a");
  await delivered("two", "b");
  const texts = await until(
    async () => {
      const response = await fetch(`http://127.0.0.1:${api}/1/logs/${LOG}/events`, {
        headers: { Authorization: AUTHORIZATION },
      });
      const events = (await response.json()) as Listed[];
      return events.length >= 2 ? events.map(({ text }) => text) : null;
    },
    { what: "two events" },
  );
  t.deepEqual(texts, ["GitHub's webhook is set up: one", "GitHub's webhook is set up: two"]);
});
