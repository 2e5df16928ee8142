import test from "ava";

import { LoggiaError } from "../../../src/errors.ts";
import { HOST_CLOCK } from "../../../src/events/clock.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { firstIdAt } from "../../../src/events/id.ts";
import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { FREE_EVENTS, maxEvents, SharedParts } from "../../../src/ingest/kit/amplification.ts";
import type { Append } from "../../../src/ingest/idempotency/idempotency.ts";
import { matchProtocol } from "../../../src/ingest/protocols/match.ts";
import { RecentIds } from "../../../src/ingest/append/recent-ids.ts";
import { storeEvents } from "../../../src/ingest/append/store-events.ts";
import { FairTurns } from "../../../src/scheduling/fair-turns.ts";
import { receivedOf } from "../../support/received.ts";

const MB = 1024 * 1024;
const LIMITS = DEFAULT_LIMITS;

test("a part that events share is as large as one event may carry", (t) => {
  const parts = new SharedParts({ sent_bytes: 0, limits: LIMITS });
  const many = new Map(Array.from({ length: 20_000 }, (_, i) => [`name${i}`, "x"] as const));
  const part = parts.part(
    many,
    Array.from({ length: 1_000 }, (_, i) => `tag${i}`),
  );
  t.is(part.attributes.size, LIMITS.attributes);
  t.true(part.tags.join(" ").length <= LIMITS.tags);
  t.true(part.isCut);
  const long = parts.part(new Map([["a", "x".repeat(10 * MB)]]));
  t.true(long.size_bytes < 4 * LIMITS.attributeValue);
  t.like(parts.part(new Map([["a", "b"]]), ["t"]), { tags: ["t"], isCut: false });
});

test("parts are shared until they have taken a hundred times the bytes sent, at least a megabyte", (t) => {
  for (const [sent_bytes, most_bytes] of [
    [0, MB],
    [100_000, 10_000_000],
  ] as const) {
    const parts = new SharedParts({ sent_bytes, limits: LIMITS });
    const part = parts.part(new Map([["a", "x".repeat(1_000)]]));
    let taken_bytes = 0;
    for (let i = 0; i < 100_000; i++) taken_bytes += parts.take(part).size_bytes;
    t.true(taken_bytes <= most_bytes && taken_bytes > 0.9 * most_bytes, `${taken_bytes} of ${most_bytes}`);
    t.like(parts.take(part), { attributes: new Map(), isCut: true });
  }
});

type Request = {
  readonly path: string;
  readonly type?: string;
  readonly body: Buffer | string;
  readonly query?: string;
  readonly tags?: readonly string[];
  readonly sent_bytes: number;
};

/** Stores a request. Returns what it made of it. */
async function store({ path, type = "application/json", body, query = "", tags = [], sent_bytes }: Request) {
  const match = matchProtocol("POST", path);
  if (match?.endpoint.kind !== "post") throw new Error(`nothing takes ${path}`);
  const { endpoint } = match;
  const received = receivedOf(body, {
    headers: { "content-type": type },
    query: new URLSearchParams(query),
    sent_bytes,
  });
  let stored_bytes = 0;
  const options = {
    coalescer: {
      submitLines(_log: unknown, lines: readonly { fields: string }[]) {
        for (const { fields } of lines) stored_bytes += fields.length;
        return Promise.resolve(firstIdAt(0));
      },
    },
    idempotency: {
      post: async <B extends object>(batch: B, append: Append) => {
        return { ...batch, first: await append({ first: firstIdAt(0), created: 0 }) };
      },
    },
    recent: new RecentIds(),
    limits: LIMITS,
    clock: HOST_CLOCK,
    memory: { turns: new FairTurns() },
  };
  const producer = { log: parseLogKey("a")!, owner: "ann", apiKey: "", tags, sent_bytes, repeat: null };
  const { stored } = await storeEvents(producer, received.body.length, () => endpoint.read(received), options);
  return { ...stored, stored_bytes };
}

const COUNT = 6_000;
const SENT_BYTES = 10_000;
const VALUE = "v".repeat(1_000);
const attributes = Array.from({ length: 10 }, (_, i) => ({ key: `a${i}`, value: { stringValue: VALUE } }));
const labels = Object.fromEntries(attributes.map(({ key }) => [key, VALUE]));
const items = (item: string): string => Array.from({ length: COUNT }, () => item).join(",");

/** Requests in which many tiny events share something large. */
const SHARING: Readonly<Record<string, Omit<Request, "sent_bytes">>> = {
  "a resource": {
    path: "/v1/logs",
    body: `{"resourceLogs":[{"resource":{"attributes":${JSON.stringify(attributes)}},"scopeLogs":[{"logRecords":[${items('{"body":{"stringValue":"x"}}')}]}]}]}`,
  },
  "a scope": {
    path: "/v1/logs",
    body: `{"resourceLogs":[{"scopeLogs":[{"scope":{"attributes":${JSON.stringify(attributes)}},"logRecords":[${items('{"body":{"stringValue":"x"}}')}]}]}]}`,
  },
  labels: {
    path: "/loki/api/v1/push",
    body: `{"streams":[{"stream":${JSON.stringify(labels)},"values":[${items('["1","x"]')}]}]}`,
  },
  "tags of Datadog": {
    path: "/api/v2/logs",
    query: `ddtags=${Array.from({ length: 10 }, (_, i) => `t${i}:${VALUE}`).join(",")}`,
    body: `[${items('{"message":"x"}')}]`,
  },
  "fields of Splunk's raw events": {
    path: "/services/collector/raw",
    query: `host=h&sourcetype=${VALUE}&index=${VALUE}`,
    body: items("x").replaceAll(",", "\n"),
  },
  "tags of a request": {
    path: "/lines",
    type: "text/plain",
    tags: ["t".repeat(LIMITS.tags - 10)],
    body: items("x").replaceAll(",", "\n"),
  },
  "an index": {
    path: `/${"i".repeat(1_500)}/_bulk`,
    body: items('{"index":{}}\n{"message":"x"}').replaceAll(",{", "\n{") + "\n",
  },
  "labels of a group": {
    path: "/hooks/alertmanager",
    body: JSON.stringify({ receiver: "r", groupKey: VALUE, orgId: VALUE, alerts: [] }).replace(
      '"alerts":[]',
      `"alerts":[${Array.from({ length: COUNT }, (_, i) => `{"fingerprint":"${i}","annotations":{"summary":"x"}}`).join(",")}]`,
    ),
  },
};

for (const [what, request] of Object.entries(SHARING)) {
  test(`${what}: what events share is bounded by the bytes sent, and cut beyond`, async (t) => {
    const { accepted, cut, stored_bytes } = await store({ ...request, sent_bytes: SENT_BYTES });
    t.is(accepted, COUNT);
    const own_bytes = 400 * COUNT;
    t.true(stored_bytes <= MB + own_bytes, `${stored_bytes} bytes`);
    t.true(cut > 0 && cut < COUNT, `${cut} cut`);
    const whole = await store({ ...request, sent_bytes: 100 * MB });
    t.is(whole.cut, 0);
    t.true(whole.stored_bytes > stored_bytes);
  });
}

test("a request holds a hundred events, and one more for each byte sent", async (t) => {
  t.is(maxEvents(0), FREE_EVENTS);
  const request = { path: "/lines", type: "text/plain", body: items("x").replaceAll(",", "\n") };
  t.is((await store({ ...request, sent_bytes: COUNT - FREE_EVENTS })).accepted, COUNT);
  const { code, message } = await t.throwsAsync(store({ ...request, sent_bytes: 50 }), { instanceOf: LoggiaError });
  t.is(code, "body_too_large");
  t.regex(message, /The 50 bytes sent may hold at most 150 events/);
});
