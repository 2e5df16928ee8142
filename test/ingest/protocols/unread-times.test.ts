import test from "ava";

import { AUTHORIZATION, LOG, serviceOf } from "../../support/service.ts";
import { eventsOf, send } from "../posting.ts";

const JSON_TYPE = { "Content-Type": "application/json" };

/** Posts of events with small numbers as times, by what the events' texts and attributes are then. */
const POSTS: readonly {
  readonly path: string;
  readonly body: string | object;
  readonly text: string;
  readonly attributes: object;
}[] = [
  { path: "/lines", body: { msg: "usb 1-1", time: 12.345678 }, text: "usb 1-1", attributes: { time: 12.345678 } },
  { path: "/lines", body: { msg: "invoice", date: 20_190_501 }, text: "invoice", attributes: { date: 20_190_501 } },
  { path: "/lines", body: { msg: "back", ts: -1_700_000_000 }, text: "back", attributes: { ts: -1_700_000_000 } },
  { path: "/lines", body: { msg: "soon", time: "soon" }, text: "soon", attributes: { time: "soon" } },
  { path: "/lines?time_field=at", body: { msg: "chosen", at: 7 }, text: "chosen", attributes: { at: 7 } },
  { path: "/services/collector", body: { event: "hec", time: 0 }, text: "hec", attributes: { time: 0 } },
  { path: "/services/collector/raw?time=5", body: "raw hec", text: "raw hec", attributes: { time: "5" } },
  {
    path: "/gelf",
    body: { version: "1.1", host: "b", short_message: "gelf", timestamp: 0 },
    text: "gelf",
    attributes: { timestamp: 0 },
  },
  {
    path: "/gelf",
    body: { version: "1.1", host: "b", short_message: "gelf object", timestamp: { at: 5 } },
    text: "gelf object",
    attributes: { "timestamp.at": 5 },
  },
  {
    path: "/_bulk",
    body: '{"index":{}}\n{"@timestamp":0,"message":"bulk"}\n',
    text: "bulk",
    attributes: { "@timestamp": 0 },
  },
  {
    path: "/loki/api/v1/push",
    body: { streams: [{ stream: {}, values: [["0", "loki"]] }] },
    text: "loki",
    attributes: { timestamp: "0" },
  },
  { path: "/api/v2/logs", body: [{ message: "datadog", timestamp: 0 }], text: "datadog", attributes: { timestamp: 0 } },
  {
    path: "/v1/logs",
    body: {
      resourceLogs: [{ scopeLogs: [{ logRecords: [{ timeUnixNano: "5000000", body: { stringValue: "otlp" } }] }] }],
    },
    text: "otlp",
    attributes: { time_unix_nano: "5000000" },
  },
];

test("an event with a number that is no time gets the time of its post, and keeps the number", async (t) => {
  const service = await serviceOf(t, "embedded");
  const changed = await fetch(`${service.apiUrl}/manage/1/logs/${LOG}`, {
    method: "PATCH",
    headers: { Authorization: AUTHORIZATION, ...JSON_TYPE },
    body: JSON.stringify({ retentionDays: 30 }),
  });
  t.true(changed.ok);
  const since_ms = Date.now();
  for (const { path, body } of POSTS) {
    const posted = await send(service, path, typeof body === "string" ? body : JSON.stringify(body), {
      headers: JSON_TYPE,
    });
    t.true(posted.status < 300, `${path}: ${posted.status} ${posted.text}`);
  }
  const old = [{ msg: "old", time: "2001-01-01T00:00:00Z" }, { msg: "no time" }].map((line) => JSON.stringify(line));
  t.is((await send(service, "/lines", old.join("\n"), { headers: JSON_TYPE })).status, 201);
  const events = new Map((await eventsOf(service, POSTS.length + 1)).map((event) => [event.text, event]));
  for (const { path, text, attributes } of POSTS) {
    const event = events.get(text);
    t.like(event?.attributes, attributes, path);
    t.true(Number(/\d+/.exec(event?.created ?? "")?.[0]) >= since_ms, path);
  }
  t.false(events.has("old"));
  const metrics = await (await fetch(`${service.postUrl}/metrics`)).text();
  t.regex(metrics, new RegExp(`^loggia_post_times_unread_total ${POSTS.length}$`, "m"));
  t.regex(metrics, /^loggia_post_events_expired_total 1$/m);
});
