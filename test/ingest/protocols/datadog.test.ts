import test from "ava";
import { gzipSync } from "node:zlib";

import { KEY, serviceOf } from "../../support/service.ts";
import { eventsOf, send } from "../posting.ts";

const PATH = "/api/v2/logs";
const HEADERS = { "DD-API-KEY": KEY, "Content-Type": "application/json" };

test("logs are stored with tags, status and time", async (t) => {
  const service = await serviceOf(t, "embedded");
  const log = {
    message: "order failed",
    status: "err",
    service: "shop",
    hostname: "box",
    ddsource: "nodejs",
    ddtags: "env:prod,team:a,team:b,plain",
    timestamp: 1_700_000_000_123,
    http: { status_code: 500 },
  };
  const body = JSON.stringify([log, { message: "second" }, 1]);
  const ways: readonly (readonly [string, string | Buffer, Record<string, string>])[] = [
    [`${PATH}?ddsource=query&service=q`, body, HEADERS],
    [PATH, gzipSync(body), { ...HEADERS, "Content-Encoding": "gzip" }],
    [`/v1/input/${KEY}`, body, { "Content-Type": "application/json", apikey: "" }],
    [`/v1/input?dd-api-key=${KEY}`, body, { apikey: "" }],
  ];
  for (const [path, bytes, headers] of ways) {
    const { status, text } = await send(service, path, bytes, { headers });
    t.is(status, 202, text);
    t.is(text, "{}");
  }
  const events = await eventsOf(service, 8);
  t.is(events.length, 8);
  for (const event of events.filter(({ text }) => text === "order failed")) {
    t.like(event, { source: "shop", tags: ["error", "plain"] });
    t.regex(event.created, /1700000000123/);
    t.deepEqual(event.attributes, {
      env: "prod",
      team: ["a", "b"],
      status: "err",
      service: "shop",
      hostname: "box",
      ddsource: "nodejs",
      "http.status_code": 500,
    });
  }
  t.is(events.filter(({ text, source }) => text === "second" && source === "q").length, 1);
});

test("fields of a message in JSON are found by name, as the agent sends the lines of a JSON log", async (t) => {
  const service = await serviceOf(t, "embedded");
  const envelope = {
    status: "info",
    timestamp: 1_700_000_000_123,
    hostname: "box",
    service: "agent",
    ddtags: "env:prod",
  };
  const message = {
    message: "not paid",
    level: "error",
    service: "shop",
    order: { n: "9007199254740993" },
    env: "line",
  };
  const logs = [
    { ...envelope, message: JSON.stringify(message) },
    // Vector with conforms_as_agent
    { ...envelope, message },
    { ...envelope, message: '{"n":1}' },
    { ...envelope, message: "{not json}" },
    { ...envelope, message: "{}" },
  ];
  t.is((await send(service, PATH, JSON.stringify(logs), { headers: HEADERS })).status, 202);
  const events = await eventsOf(service, logs.length);
  const found = events.filter(({ text }) => text === "not paid");
  t.is(found.length, 2);
  for (const event of found) {
    t.like(event, { source: "shop", tags: ["error"] });
    t.regex(event.created, /1700000000123/);
    t.deepEqual(event.attributes, {
      level: "error",
      service: "shop",
      "order.n": "9007199254740993",
      env: "line",
      status: "info",
      hostname: "box",
      "dd.service": "agent",
      "dd.env": "prod",
    });
  }
  t.like(
    events.find(({ text }) => text === '{"n":1}'),
    { source: "agent", tags: ["info"], attributes: { n: 1, env: "prod" } },
  );
  for (const text of ["{not json}", "{}"])
    t.like(
      events.find((event) => event.text === text),
      { source: "agent", tags: ["info"] },
    );
});

test("logs may stand one behind another, or be lines of text", async (t) => {
  const service = await serviceOf(t, "embedded");
  const path = `${PATH}?ddsource=cloudflare&service=edge&ddtags=zone:a`;
  const lines = '{"message":"a"}\n{"message":"b","service":"own"}\n';
  t.is(
    (await send(service, path, gzipSync(lines), { headers: { ...HEADERS, "Content-Encoding": "gzip" } })).status,
    202,
  );
  for (const type of ["text/plain; charset=utf-8", "application/logplex-1"]) {
    const headers = { ...HEADERS, "Content-Type": type };
    t.is((await send(service, path, 'c\r\n\n{"message":"d","level":"warn"}\n', { headers })).status, 202);
  }
  t.is((await send(service, path, `${lines}x`, { headers: HEADERS })).status, 400);
  const events = await eventsOf(service, 6);
  t.is(
    events
      .map(({ text }) => text)
      .toSorted()
      .join(""),
    "abccdd",
  );
  for (const { text, source, tags, attributes } of events) {
    t.is(source, text === "b" ? "own" : "edge");
    t.deepEqual(tags, text === "d" ? ["warn"] : []);
    t.like(attributes, { zone: "a", ddsource: "cloudflare" });
  }
});

test("a request of Firehose, which would be repeated, is refused", async (t) => {
  const service = await serviceOf(t, "embedded");
  const body = '{"requestId":"r","timestamp":1,"records":[{"data":"eA=="}]}';
  const headers = { ...HEADERS, "X-Amz-Firehose-Request-Id": "r" };
  const { status, text } = await send(service, "/v1/input", body, { headers });
  t.is(status, 400);
  t.regex(text, /use its destination Splunk/);
});

test("a key can be validated, as agents and Vector do before they post", async (t) => {
  const service = await serviceOf(t, "embedded");
  const validate = (headers: Record<string, string>) =>
    send(service, "/api/v1/validate", null, { method: "GET", headers });
  const { status, text } = await validate({ "DD-API-KEY": KEY });
  t.is(status, 200);
  t.deepEqual(JSON.parse(text), { valid: true });
  t.is((await validate({ "DD-API-KEY": "wrong" })).status, 401);
});

test("a probe is answered and stores nothing; a malformed log is refused", async (t) => {
  const service = await serviceOf(t, "embedded");
  for (const body of ["{}", "[]", "[{}]"])
    t.is((await send(service, PATH, body, { headers: HEADERS })).status, 202, body);
  for (const body of ["", "x", "1", '"x"', "[1"]) {
    const { status, text } = await send(service, PATH, body, { headers: HEADERS });
    t.is(status, 400, body);
    t.like(JSON.parse(text) as object, { errors: [{ status: "400" }] });
  }
  t.is((await send(service, PATH, "{}", { headers: { "DD-API-KEY": "wrong" } })).status, 401);
  t.is((await send(service, PATH, '{"message":"only"}', { headers: HEADERS })).status, 202);
  t.is((await eventsOf(service, 1)).length, 1);
});

test("lines of JSON that browsers label as text are logs of their own", async (t) => {
  const service = await serviceOf(t, "embedded");
  const log = (n: number) => ({
    message: `clicked ${n}`,
    status: "error",
    service: "web",
    date: 1_700_000_000_123,
    ddtags: "env:prod,plain",
    usr: { id: "7", name: "ann" },
    view: { url: "https://shop.example.org/cart" },
  });
  const body = [1, 2].map((n) => JSON.stringify(log(n))).join("\n");
  // Browsers send their key as a parameter, because sendBeacon sets no headers.
  const path = `${PATH}?ddsource=browser&dd-api-key=${KEY}&dd-evp-origin=browser`;
  const headers = { "Content-Type": "text/plain;charset=UTF-8", apikey: "" };
  t.is((await send(service, path, body, { headers })).status, 202);
  const events = await eventsOf(service, 2);
  t.deepEqual(events.map(({ text }) => text).toSorted(), ["clicked 1", "clicked 2"]);
  for (const event of events) {
    t.like(event, { source: "web", user: "ann", link: "https://shop.example.org/cart", tags: ["error", "plain"] });
    t.regex(event.created, /1700000000123/);
    t.like(event.attributes, { env: "prod", ddsource: "browser" });
  }
});
