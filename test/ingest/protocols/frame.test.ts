import test from "ava";
import { once } from "node:events";
import { request } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { gzipSync, zstdCompressSync } from "node:zlib";

import { LoggiaError } from "../../../src/errors.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { eventsOn } from "../../support/events-on.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG, serviceOf, startService, STOPPED } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { eventsOf, listenWith, send } from "../posting.ts";

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

test("the key alone selects the log, wherever a client puts it", async (t) => {
  const service = await serviceOf(t, "embedded");
  const base64 = Buffer.from(`id:${KEY}`).toString("base64");
  const ways: readonly (readonly [string, Record<string, string>])[] = [
    ["/lines", { Authorization: `Bearer ${KEY}` }],
    ["/lines", { Authorization: basic("anybody", KEY) }],
    ["/lines", { Authorization: basic("", KEY) }],
    ["/lines", { Authorization: `ApiKey ${KEY}` }],
    ["/lines", { Authorization: `ApiKey ${base64}` }],
    ["/lines", { Authorization: `Splunk ${KEY}` }],
    ["/lines", { "DD-API-KEY": KEY }],
    ["/lines", { "X-API-Key": KEY }],
    ["/lines", { apikey: KEY }],
    [`/lines?apikey=${KEY}`, {}],
    [`/keys/${KEY}/lines`, {}],
    [`/1/logs/${LOG}/lines/`, { Authorization: `Bearer ${KEY}` }],
  ];
  for (const [path, headers] of ways) {
    const { status, text } = await send(service, path, `by ${path} ${JSON.stringify(headers)}`, { headers });
    t.is(status, 201, `${path} ${JSON.stringify(headers)}: ${text}`);
  }
  t.is((await eventsOf(service, ways.length)).length, ways.length);
});

test("a key that may not post is refused before its body is read, and the connection stays open", async (t) => {
  const service = await serviceOf(t, "embedded");
  const log = parseLogKey(LOG)!;
  const reading = await service.ports.catalog.createApiKey(log, "read-only");
  const writing = await service.ports.catalog.createApiKey(log, "write-only");
  await service.ports.catalog.refresh();
  const post = (key: string, path = "/lines") =>
    send(service, path, "x", { headers: { Authorization: `Bearer ${key}` } });
  t.is((await post(reading.secret)).status, 403);
  t.is((await post(writing.secret)).status, 201);
  t.is((await post(KEY, "/1/logs/other/lines")).status, 401);
  t.is((await send(service, "/lines", "x", { headers: { apikey: "" } })).status, 401);
  t.is((await eventsOf(service, 1)).length, 1);
});

test("wrong keys count towards the limit of guesses per address", async (t) => {
  const environment = { ...environmentOf("embedded", temporaryFolder(t)), LOGGIA_RATE_FAILURES: "5" };
  const service = await startService(environment, STOPPED);
  t.teardown(() => service.close());
  const statuses: number[] = [];
  for (let i = 0; i < 8; i++) {
    const headers = { Authorization: `Splunk wrong-${i}` };
    statuses.push((await send(service, "/lines", "x", { headers })).status);
  }
  t.deepEqual(statuses.slice(0, 5), [401, 401, 401, 401, 401]);
  t.is(statuses.at(-1), 429);
  const response = await fetch(`${service.postUrl}/1/logs/${LOG}/events`, {
    method: "POST",
    body: new URLSearchParams({ apikey: "another guess", text: "x" }),
  });
  t.is(response.status, 429, "and by the form");
});

test("requests of no protocol are answered as before", async (t) => {
  const service = await serviceOf(t, "embedded");
  for (const path of ["/nothing", "/1/logs", `/1/logs/${LOG}`, `/keys/${KEY}`, "/lines/x"]) {
    const { status, text } = await send(service, path, "x");
    t.is(status, 404, path);
    t.is((JSON.parse(text) as { error: { code: string } }).error.code, "path_not_found");
  }
  t.is((await send(service, "/lines", null, { method: "GET" })).status, 404);
});

test("compression bombs, malformed bodies and unknown encodings are refused and store nothing", async (t) => {
  const service = await serviceOf(t, "embedded");
  const post = async (body: Buffer, encoding: string) =>
    (await send(service, "/lines", body, { headers: { "Content-Encoding": encoding } })).status;
  const zeros = Buffer.alloc(100 * 1024 * 1024, "x\n");
  t.is(await post(gzipSync(zeros), "gzip"), 413);
  t.is(await post(zstdCompressSync(zeros), "zstd"), 413);
  t.is(await post(gzipSync(Buffer.alloc(40 * 1024 * 1024, "x\n")), "gzip"), 413);
  t.is(await post(Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]), "snappy"), 413);
  t.is(await post(Buffer.from("no gzip"), "gzip"), 400);
  t.is(await post(Buffer.from("no gzip"), "zstd"), 400);
  t.is(await post(Buffer.from("no gzip"), "deflate"), 400);
  t.is(await post(gzipSync("cut off").subarray(0, 20), "gzip"), 400);
  t.is(await post(Buffer.from("x"), "br"), 415);
  t.is(await post(Buffer.from("x"), "gzip, gzip"), 415);
  t.is((await send(service, "/lines", " \n\n")).status, 400);
  t.is((await send(service, "/lines", "well")).status, 201);
  t.deepEqual(
    (await eventsOf(service, 1)).map(({ text }) => text),
    ["well"],
  );
});

test("a request may contain more events than one append, which keep their order", async (t) => {
  const service = await serviceOf(t, "embedded");
  const count = 60_000;
  const body = Array.from({ length: count }, (_, i) => `line ${i} of a large body`).join("\n");
  const posted = await send(service, "/lines", body);
  t.is(posted.status, 201, posted.text);
  t.deepEqual(JSON.parse(posted.text), { accepted: count });
  const texts = (await eventsOn(service.ports.bus)).map(({ text }) => text);
  t.deepEqual(texts, body.split("\n"));
});

test("attributes, tags and times of any size are cut and marked, never refused", async (t) => {
  const service = await serviceOf(t, "embedded");
  const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`name${i}`, i]));
  const large = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`v${i}`, "é".repeat(8_000)]));
  const nested = `{"text":"deep","a":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}}`;
  const tags = Array.from({ length: 300 }, (_, i) => `tag${i}`);
  const future = "2199-01-01T00:00:00.000Z";
  const lines = [
    JSON.stringify({ text: "many", ...many }),
    JSON.stringify({ text: "large", ...large, [`n${"x".repeat(300)}`]: 1, "": "no name" }),
    nested,
    JSON.stringify({ text: "tags", tags, level: "eror" }),
    JSON.stringify({ text: "future", time: future, user: "u".repeat(300), link: "l".repeat(3_000) }),
    JSON.stringify({ text: "before 1970", time: "1969-12-31T23:59:55Z" }),
    JSON.stringify({ text: "lone \ud800", "\udc00": "\ud800", __proto__: 1, constructor: "c" }),
    JSON.stringify({ text: "  ", level: "warn" }),
  ];
  const posted = await send(service, "/lines", lines.join("\n"), { headers: { "Content-Type": "application/json" } });
  t.is(posted.status, 201, posted.text);
  const events = new Map((await eventsOf(service, lines.length)).map((event) => [event.text, event]));
  t.is(Object.keys(events.get("many")!.attributes!).length, 256);
  t.deepEqual(events.get("many")!.tags, ["cut"]);
  t.is(String(events.get("large")!.attributes!["v0"]).length, 7_500);
  t.deepEqual(events.get("large")!.tags, ["cut"]);
  t.deepEqual(Object.keys(events.get("deep")!.attributes!), [Array.from({ length: 17 }, () => "a").join(".")]);
  t.true(events.get("tags")!.tags.includes("cut"));
  t.is(events.get("future")!.attributes!["claimed_created"], future);
  t.is(events.get("future")!.user.length, 200);
  t.is(events.get("before 1970")!.attributes!["claimed_created"], "1969-12-31T23:59:55.000Z");
  t.like(events.get("lone \ufffd")!.attributes, { "\ufffd": "\ufffd", constructor: "c" });
  t.deepEqual(events.get('{"level":"warn","text":"  "}')!.tags, ["warn"]);
  const metrics = await (await fetch(`${service.postUrl}/metrics`)).text();
  t.regex(metrics, /^loggia_post_events_cut_total [45]$/m);
});

test("a full queue refuses the whole request with 503 and Retry-After, and nothing is stored", async (t) => {
  const service = await serviceOf(t, "embedded");
  const appended: number[] = [];
  let full = true;
  const listener = await listenWith(t, service, {
    idempotency: { post: () => Promise.reject(new Error("no keys here")) },
    submitLines(lines) {
      if (full) return Promise.reject(new LoggiaError("overloaded", "Too many posts are waiting"));
      appended.push(lines);
      full = appended.length === 1;
      if (full) setTimeout(() => (full = false), 100);
      return Promise.resolve("0".repeat(24));
    },
  });
  const body = `${"x".repeat(20)}\n`.repeat(60_000);
  const refused = await send(listener, "/lines", body);
  t.is(refused.status, 503);
  t.is(refused.headers.get("retry-after"), "1");
  t.deepEqual(appended, []);
  full = false;
  const taken = await send(listener, "/lines", body);
  t.is(taken.status, 201, "what has begun waits for room");
  t.is(
    appended.reduce((sum, count) => sum + count, 0),
    60_000,
  );
});

test("events older than the log's retention are accepted and not stored", async (t) => {
  const service = await serviceOf(t, "embedded");
  const changed = await fetch(`${service.apiUrl}/manage/1/logs/${LOG}`, {
    method: "PATCH",
    headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
    body: JSON.stringify({ retentionDays: 30 }),
  });
  t.true(changed.ok, String(changed.status));
  const lines = [
    JSON.stringify({ text: "old", time: Date.now() - 40 * 86_400_000 }),
    JSON.stringify({ text: "fresh", time: Date.now() - 20 * 86_400_000 }),
  ];
  const posted = await send(service, "/lines", lines.join("\n"), { headers: { "Content-Type": "application/json" } });
  t.deepEqual(JSON.parse(posted.text), { accepted: 2 });
  t.is((await send(service, "/lines", "last")).status, 201);
  t.deepEqual((await eventsOf(service, 2)).map(({ text }) => text).toSorted(), ["fresh", "last"]);
});

test("chunked bodies and 100-continue are supported; an incomplete body stores nothing", async (t) => {
  const service = await serviceOf(t, "embedded");
  const open = (headers: Record<string, string>) =>
    request(`${service.postUrl}/lines`, { method: "POST", headers: { Authorization: `Bearer ${KEY}`, ...headers } });
  const statusOf = async (sent: ClientRequest) => {
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  const chunked = open({});
  for (const piece of ["fi", "rst\nsec", "ond\n"]) {
    chunked.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  chunked.end();
  t.is(await statusOf(chunked), 201);
  const expecting = open({ Expect: "100-continue", "Content-Length": "5" });
  expecting.flushHeaders();
  await once(expecting, "continue");
  expecting.end("third");
  t.is(await statusOf(expecting), 201);
  const cut = open({ "Content-Length": "1000" });
  cut.on("error", () => {});
  cut.write("never\n");
  await new Promise((resolve) => setTimeout(resolve, 50));
  cut.destroy();
  t.is((await send(service, "/lines", "last")).status, 201);
  const texts = (await eventsOf(service, 4)).map(({ text }) => text);
  t.deepEqual(texts.toSorted(), ["first", "last", "second", "third"]);
});
