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
