import test from "ava";
import fc from "fast-check";

import { parseExactly } from "../../../src/ingest/kit/json.ts";
import { readSplunkObjects, type ReadObject } from "../../../src/ingest/protocols/splunk/objects.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { KEY, LOG, serviceOf } from "../../support/service.ts";
import { eventsOf, send } from "../posting.ts";

const TOKEN = { Authorization: `Splunk ${KEY}` };
const EVENT = "/services/collector/event";

test("concatenated events are stored, with their metadata and times of every kind", async (t) => {
  const service = await serviceOf(t, "embedded");
  const body =
    '{"time":1700000000.123,"host":"box","source":"app.log","sourcetype":"_json","index":"main","event":{"message":"object","severity":"error","n":5},"fields":{"region":"eu"}}' +
    '{"time":"1700000000.123456","event":"text"}\n\n, {"time":"1700000000123","event":"milliseconds }{ \\" \\\\"}' +
    '{"event":{"no":"text"}}{"event":5}';
  for (const path of ["/services/collector", EVENT, "/services/collector/event/1.0"]) {
    const { status, text } = await send(service, path, body, { headers: { ...TOKEN, "Content-Type": "text/xml" } });
    t.is(status, 200, text);
    t.deepEqual(JSON.parse(text), { text: "Success", code: 0 });
  }
  t.is((await send(service, EVENT, `[${body.replace("\n\n, ", "")}]`, { headers: TOKEN })).status, 200);
  const events = await eventsOf(service, 20);
  t.is(events.length, 20);
  t.like(
    events.find(({ text }) => text === "object"),
    {
      source: "app.log",
      tags: ["error"],
      attributes: {
        host: "box",
        source: "app.log",
        sourcetype: "_json",
        index: "main",
        n: 5,
        region: "eu",
        severity: "error",
      },
    },
  );
  t.like(
    events.find(({ text }) => text === "text"),
    { attributes: { time_ns: "1700000000123456000" } },
  );
  for (const text of ['milliseconds }{ " \\', '{"no":"text"}', "5"])
    t.true(
      events.some((event) => event.text === text),
      text,
    );
});

test("a text that is a JSON object is the event of its fields, as Fluentd sends each record", async (t) => {
  const service = await serviceOf(t, "embedded");
  const record = { log: "event 4\nof two lines", level: "error", n: 4, service: "shop", at: { x: 1 } };
  const envelopes = [JSON.stringify(record), ' {"n":5} ', '{"no":"text","n":6}', "{no JSON}", "[7]"].map((event) => ({
    host: "box",
    source: "fluentd",
    time: "1700000000.123",
    event,
  }));
  const body = envelopes.map((envelope) => JSON.stringify(envelope)).join("");
  t.is((await send(service, EVENT, body, { headers: TOKEN })).status, 200);
  const events = new Map((await eventsOf(service, 5)).map((event) => [event.text, event]));
  t.like(events.get("event 4\nof two lines"), {
    source: "shop",
    tags: ["error"],
    attributes: { n: 4, "at.x": 1, level: "error", host: "box", source: "fluentd" },
  });
  t.like(events.get('{"no":"text","n":6}'), { source: "fluentd", attributes: { no: "text", n: 6 } });
  for (const text of [' {"n":5} ', "{no JSON}", "[7]"]) t.is(events.get(text)?.attributes?.["n"], undefined, text);
});

test("a line of Docker's driver is the text and its tag the source; severities of the Collector are read", async (t) => {
  const service = await serviceOf(t, "embedded");
  const body =
    '{"event":{"line":"inline é","source":"stderr","tag":"web-1","attrs":{"env":"prod"}},"time":"1700000000.5","host":"box"}' +
    '{"event":{"line":{"message":"json","level":"warn","n":5,"at":{"x":1}},"source":"stdout","tag":"web-1"},"host":"box"}' +
    '{"event":{"line":{"n":6},"source":"stdout"},"host":"box"}' +
    '{"event":{"message":"own text","line":"17"},"host":"box"}' +
    '{"event":"of the Collector","fields":{"otel.log.severity.text":"ERROR","otel.log.severity.number":17}}' +
    '{"event":"by number","fields":{"otel.log.severity.number":13}}';
  t.is((await send(service, EVENT, body, { headers: TOKEN })).status, 200);
  const events = new Map((await eventsOf(service, 6)).map((event) => [event.text, event]));
  t.deepEqual(events.get("of the Collector")!.tags, ["error"]);
  t.deepEqual(events.get("by number")!.tags, ["warn"]);
  t.like(events.get("inline é"), {
    source: "web-1",
    attributes: { source: "stderr", tag: "web-1", "attrs.env": "prod", host: "box" },
  });
  t.like(events.get("json"), { source: "web-1", tags: ["warn"], attributes: { n: 5, "at.x": 1, source: "stdout" } });
  t.like(events.get('{"line":{"n":6},"source":"stdout"}'), { source: "box", attributes: { n: 6, source: "stdout" } });
  t.like(events.get("own text"), { attributes: { line: "17" } });
});

test("raw bodies are an event per line, with metadata from parameters", async (t) => {
  const service = await serviceOf(t, "embedded");
  const path = "/services/collector/raw?host=box&sourcetype=app&channel=c1";
  const { status, text } = await send(service, path, "one\r\n\n{two", { headers: TOKEN });
  t.is(status, 200);
  const { ackId } = JSON.parse(text) as { ackId: number };
  t.true(Number.isSafeInteger(ackId));
  const acks = await send(service, "/services/collector/ack?channel=c1", JSON.stringify({ acks: [ackId, "x"] }), {
    headers: TOKEN,
  });
  t.deepEqual(JSON.parse(acks.text), { acks: { [ackId]: true } });
  const none = await send(service, "/services/collector/ack?channel=c1", '{"acks":[]}', { headers: TOKEN });
  t.is(none.text, '{"acks":{}}');
  const events = await eventsOf(service, 2);
  t.deepEqual(events.map((event) => event.text).toSorted(), ["one", "{two"]);
  t.true(events.every(({ source, attributes }) => source === "box" && attributes!["sourcetype"] === "app"));
});

test("a raw line of objects without anything between them is an event each", async (t) => {
  const service = await serviceOf(t, "embedded");
  const path = "/services/collector/raw?host=box&auto_extract_timestamp=true";
  const long = `{"n":"${"x".repeat(600_000)}"}`;
  const bodies = [
    '{"n":1,"s":"}{\\""}{"n":{"m":2}}{}\r\n{"n":3} {"n":4}{"n":5}\n{"n":6}{x}\n ',
    `{"n":7}${long}{"n":8}`,
    `${long}{"n":9}{"open`,
  ];
  for (const body of bodies) t.is((await send(service, path, body, { headers: TOKEN })).status, 200);
  const events = await eventsOf(service, 9);
  t.deepEqual(events.map(({ text }) => text.slice(0, 30)).toSorted(), [
    '{"n":"xxxxxxxxxxxxxxxxxxxxxxxx',
    '{"n":"xxxxxxxxxxxxxxxxxxxxxxxx',
    '{"n":1,"s":"}{\\""}',
    '{"n":3} {"n":4}{"n":5}',
    '{"n":6}{x}',
    '{"n":7}',
    '{"n":8}',
    '{"n":{"m":2}}',
    "{}",
  ]);
  for (const { source, tags, text } of events) {
    t.is(source, "box");
    t.deepEqual(tags, text.startsWith('{"n":"x') ? ["cut"] : []);
  }
});

test("errors have the collector's own codes, and nothing of the request is stored", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { secret } = await service.ports.catalog.createApiKey(parseLogKey(LOG)!, "read-only");
  await service.ports.catalog.refresh();
  const good = '{"event":"good"}';
  const cases: readonly (readonly [string, Record<string, string>, number, object])[] = [
    [good, { Authorization: "" }, 401, { code: 2 }],
    [good, { Authorization: "Nonsense" }, 401, { code: 3 }],
    [good, { Authorization: "Splunk wrong" }, 403, { code: 4 }],
    [good, { Authorization: `Splunk ${secret}` }, 403, { code: 4 }],
    ["", TOKEN, 400, { code: 5 }],
    [" \n", TOKEN, 400, { code: 5 }],
    [`${good}{"event":`, TOKEN, 400, { code: 6, "invalid-event-number": 1 }],
    [`${good}${good}x`, TOKEN, 400, { code: 6, "invalid-event-number": 2 }],
    [`${good}{"fields":{}}`, TOKEN, 400, { code: 12, "invalid-event-number": 1 }],
    [`${good}{"event":""}`, TOKEN, 400, { code: 13, "invalid-event-number": 1 }],
    [`${good}{"event":${"[".repeat(100_000)}`, TOKEN, 400, { code: 6 }],
  ];
  for (const [body, headers, status, expected] of cases) {
    const answer = await send(service, EVENT, body, { headers });
    t.is(answer.status, status, body.slice(0, 40));
    t.like(JSON.parse(answer.text) as object, expected);
  }
  for (const [method, path] of [
    ["GET", "/services/collector/health"],
    ["GET", "/services/collector/health/1.0"],
    ["OPTIONS", EVENT],
  ] as const) {
    t.is((await fetch(service.postUrl + path, { method })).status, 200, path);
  }
  t.is((await send(service, EVENT, good, { headers: TOKEN })).status, 200);
  t.deepEqual(
    (await eventsOf(service, 1)).map(({ text }) => text),
    ["good"],
  );
});

test("concatenated objects are parsed as JSON writes them", (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 5 }),
      fc.constantFrom("", "\n", ", "),
      (objects, between) => {
        const texts = objects.map((object) => JSON.stringify(object));
        const found = [...readSplunkObjects(Buffer.from(texts.join(between)))].map(
          (read) => (read as ReadObject).value,
        );
        t.deepEqual(found, parseExactly(`[${texts.join(",")}]`) as never);
      },
    ),
  );
});
