import test from "ava";
import { compress } from "snappyjs";

import { framed, call, openSession } from "../listeners/grpc-client.ts";
import { portOf } from "../listeners/sockets.ts";
import { environmentOf, KEY, serviceOf, startService } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { eventsOf, send } from "../posting.ts";
import { encodePush } from "./loki-proto.ts";
import { encodeRequest } from "./otlp-proto.ts";

const JSON_TYPE = { "Content-Type": "application/json" };
const PROTOBUF = { "Content-Type": "application/x-protobuf" };
const OTLP = "/v1/logs";
const LOKI = "/loki/api/v1/push";
const HEC = "/services/collector/event";

type Attributes = Readonly<Record<string, string | number>>;
type Told = { readonly text: string; readonly attributes?: Attributes; readonly ns?: string };

function pairs(attributes: Attributes): object[] {
  const valueOf = (value: string | number) =>
    typeof value === "string" ? { stringValue: value } : { intValue: String(value) };
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));
}

function requestOf(records: readonly Told[], resource: Attributes = {}): object {
  const logRecords = records.map(({ text, attributes = {}, ns = "0" }) => ({
    timeUnixNano: ns,
    body: { stringValue: text },
    attributes: pairs(attributes),
  }));
  return { resourceLogs: [{ resource: { attributes: pairs(resource) }, scopeLogs: [{ logRecords }] }] };
}

const withUid = (...ids: readonly string[]): Told[] =>
  ids.map((id) => ({ text: `record ${id}`, attributes: { "log.record.uid": id } }));

test("records of OTLP with a log.record.uid are stored once, by HTTP and gRPC and after a restart", async (t) => {
  const environment = environmentOf("embedded", temporaryFolder(t));
  const first = await startService(environment);
  const json = JSON.stringify(requestOf(withUid("a", "b")));
  for (const _ of [1, 2]) {
    const { status, text } = await send(first, OTLP, json, { headers: JSON_TYPE });
    t.is(status, 200);
    t.deepEqual(JSON.parse(text), {}, "a repeat is no partial success");
  }
  const more = encodeRequest(requestOf(withUid("b", "c", "c")));
  t.is((await send(first, OTLP, more, { headers: PROTOBUF })).status, 200);
  await first.close();
  const again = await startService({ ...environment, LOGGIA_OTLP_GRPC: "127.0.0.1:0" });
  t.teardown(() => again.close());
  t.is((await send(again, OTLP, json, { headers: JSON_TYPE })).status, 200);
  const session = openSession(portOf(again));
  t.teardown(() => session.destroy());
  for (const ids of [
    ["a", "b"],
    ["d", "e"],
    ["d", "e"],
  ])
    t.is((await call(session, framed(encodeRequest(requestOf(withUid(...ids)))))).status, "0");
  const events = await eventsOf(again, 5);
  t.deepEqual(
    events.map(({ text }) => text).toSorted(),
    ["a", "b", "c", "d", "e"].map((id) => `record ${id}`),
  );
  for (const { text, attributes } of events) t.is(`record ${String(attributes!["log.record.uid"])}`, text);
});

test("an event.id is an id together with time and text, and no id without them", async (t) => {
  const service = await serviceOf(t, "embedded");
  const ns = "1700000000123456789";
  const one = { text: "order taken", attributes: { "event.id": "e1" }, ns };
  const records: readonly Told[] = [
    one,
    { ...one, text: "order paid" },
    { ...one, ns: "1700000000123456790" },
    { text: "no time", attributes: { "event.id": "e1" } },
    { text: "a code", attributes: { "event.id": 4624 }, ns },
    { text: "no id", ns },
  ];
  const body = JSON.stringify(requestOf(records, { "event.id": "shared", "log.record.uid": "shared" }));
  for (const _ of [1, 2]) t.is((await send(service, OTLP, body, { headers: JSON_TYPE })).status, 200);
  const texts = (await eventsOf(service, 9)).map(({ text }) => text).toSorted();
  const twice = ["a code", "no id", "no time"].flatMap((text) => [text, text]);
  t.deepEqual(texts, [...twice, "order paid", "order taken", "order taken"].toSorted());
});

test("a request of HEC, Loki, OTLP or _bulk with an Idempotency-Key is stored once", async (t) => {
  const service = await serviceOf(t, "embedded");
  const line = (text: string) => ({ streams: [{ stream: { app: "shop" }, values: [["1700000000000000000", text]] }] });
  const push = (text: string) =>
    Buffer.from(compress(encodePush({ streams: [{ labels: '{app="shop"}', entries: [{ line: text }] }] })));
  const cases: readonly (readonly [string, (text: string) => string | Buffer, Record<string, string>, number])[] = [
    [HEC, (text) => JSON.stringify({ event: text }), JSON_TYPE, 200],
    ["/services/collector/raw", (text) => text, { "X-Splunk-Request-Channel": "c" }, 200],
    [LOKI, (text) => JSON.stringify(line(text)), JSON_TYPE, 204],
    [LOKI, push, PROTOBUF, 204],
    [OTLP, (text) => JSON.stringify(requestOf([{ text }])), JSON_TYPE, 200],
    ["/_bulk", (text) => `{"create":{"_index":"a"}}\n{"message":"${text}"}\n`, JSON_TYPE, 200],
  ];
  for (const [n, [path, bodyOf, type, status]] of cases.entries()) {
    const post = (text: string, key?: string) =>
      send(service, path, bodyOf(text), {
        headers: { ...type, Authorization: `Bearer ${KEY}`, ...(key !== undefined && { "Idempotency-Key": key }) },
      });
    const key = `request ${n}`;
    for (const _ of [1, 2]) t.is((await post(`once ${n}`, key)).status, status, path);
    for (const _ of [1, 2]) t.is((await post(`twice ${n}`)).status, status, path);
    const other = await post(`other ${n}`, key);
    t.is(other.status, 409, path);
    t.regex(other.text, /Idempotency-Key was already used/, path);
    if (path === HEC) t.like(JSON.parse(other.text), { code: 6 });
  }
  const texts = (await eventsOf(service, 18)).map(({ text }) => text);
  t.deepEqual(texts.toSorted(), cases.flatMap((_, n) => [`once ${n}`, `twice ${n}`, `twice ${n}`]).toSorted());
});
