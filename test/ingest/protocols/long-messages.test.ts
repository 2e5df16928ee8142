import test from "ava";

import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { KEY, LOG, serviceOf } from "../../support/service.ts";
import { dataOf, eventsOf, send } from "../posting.ts";

const { text: TEXT, data: DATA } = DEFAULT_LIMITS;
/** A character of two units and four bytes: a cut within one would show. */
const CHARACTER = "\u{1f600}";
const JSON_TYPE = { "Content-Type": "application/json" };

type Way = {
  readonly path: string;
  readonly body: (message: string) => string;
  readonly headers?: Record<string, string>;
};

const WAYS: Readonly<Record<string, Way>> = {
  "plain lines": { path: `/1/logs/${LOG}/lines`, body: (message) => message },
  "lines of JSON": { path: "/lines", headers: JSON_TYPE, body: (message) => JSON.stringify({ message }) },
  "lines of JSON in escapes": {
    path: "/lines",
    headers: JSON_TYPE,
    body: (message) => JSON.stringify({ message }).replace(/[^\0-\x7f]/g, escaped),
  },
  GELF: { path: "/gelf", body: (message) => JSON.stringify({ version: "1.1", host: "h", short_message: message }) },
  Loki: {
    path: "/loki/api/v1/push",
    headers: JSON_TYPE,
    body: (message) =>
      JSON.stringify({ streams: [{ stream: { job: "j" }, values: [[`${Date.now()}000000`, message]] }] }),
  },
  Splunk: {
    path: "/services/collector/event",
    headers: { Authorization: `Splunk ${KEY}` },
    body: (event) => JSON.stringify({ event }),
  },
  Datadog: {
    path: "/api/v2/logs",
    headers: { ...JSON_TYPE, "DD-API-KEY": KEY },
    body: (message) => JSON.stringify([{ message }]),
  },
  Elasticsearch: {
    path: "/_bulk",
    headers: { "Content-Type": "application/x-ndjson" },
    body: (message) => `{"create":{"_index":"logs"}}\n${JSON.stringify({ message })}\n`,
  },
  OTLP: {
    path: "/v1/logs",
    headers: JSON_TYPE,
    body: (message) =>
      JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: message } }] }] }] }),
  },
  journald: {
    path: "/upload",
    headers: { "Content-Type": "application/vnd.fdo.journal" },
    body: (message) => `__REALTIME_TIMESTAMP=${Date.now()}000\nMESSAGE=${message}\n\n`,
  },
  "a hook": { path: `/1/logs/${LOG}/hooks/json`, headers: JSON_TYPE, body: (text) => JSON.stringify({ text }) },
};

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

for (const [name, { path, body, headers = {} }] of Object.entries(WAYS)) {
  test(`${name}: a long message is cut and marked, and kept whole as data, up to its limit`, async (t) => {
    const service = await serviceOf(t, "embedded");
    for (const length of [TEXT, TEXT + 1, DATA + 1]) {
      const { status, text } = await send(service, path, body(CHARACTER.repeat(length)), { headers });
      t.true(status < 300, `${status} ${text}`);
    }
    const events = await eventsOf(service, 3);
    t.true(events.every(({ text }) => text === CHARACTER.repeat(TEXT)));
    const cut = events.filter(({ tags }) => tags.includes("cut"));
    t.is(cut.length, 2);
    const kept = await Promise.all(cut.map(({ id }) => dataOf(service, id)));
    t.deepEqual(
      kept.map((data) => [...data].length).toSorted((a, b) => a - b),
      [TEXT + 1, DATA],
    );
    t.true(kept.every((data) => data.replaceAll(CHARACTER, "") === ""));
    t.is(events.filter(({ data }) => data === true).length, 2, "the other has none");
  });
}

test("data sent by the producer is kept, and empty data is replaced by the whole message", async (t) => {
  const service = await serviceOf(t, "embedded");
  const message = "x".repeat(TEXT + 1);
  const gelf = (full_message: string) =>
    JSON.stringify({ version: "1.1", host: "h", short_message: message, full_message });
  t.is((await send(service, "/gelf", gelf("own"))).status, 202);
  t.is((await send(service, "/gelf", gelf(" "))).status, 202);
  const events = await eventsOf(service, 2);
  t.true(events.every(({ tags }) => tags.includes("cut")));
  const kept = await Promise.all(events.map(({ id }) => dataOf(service, id)));
  t.deepEqual(kept.toSorted(), ["own", message].toSorted());
});
