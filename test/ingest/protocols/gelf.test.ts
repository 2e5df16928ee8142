import test from "ava";
import { deflateSync, gzipSync } from "node:zlib";

import { serviceOf } from "../../support/service.ts";
import { dataOf, eventsOf, send } from "../posting.ts";

const message = {
  version: "1.1",
  host: "box",
  short_message: "order failed",
  full_message: "order failed\n  at shop.js:1",
  timestamp: 1_700_000_000.123,
  level: 3,
  _user_id: 9001,
  _nested: { a: true },
  _id: "kept",
};

test("a message is stored completely, compressed or not, whatever its content type", async (t) => {
  const service = await serviceOf(t, "embedded");
  const body = JSON.stringify(message);
  const ways: readonly (readonly [string | Buffer, Record<string, string>])[] = [
    [body, {}],
    [`${body}\0`, {}],
    [JSON.stringify(message, null, 2), {}],
    [gzipSync(body), { "Content-Encoding": "gzip" }],
    [gzipSync(body), {}],
    [deflateSync(body), { "Content-Encoding": "gzip" }],
    [body, { "Content-Encoding": "deflate" }],
    [JSON.stringify({ ...message, timestamp: "1700000000.123", level: "3" }), {}],
  ];
  for (const [bytes, headers] of ways) {
    const { status, text } = await send(service, "/gelf", bytes, { headers });
    t.is(status, 202, text);
    t.is(text, "");
  }
  const events = await eventsOf(service, ways.length);
  t.is(events.length, ways.length);
  for (const event of events) {
    t.like(event, { text: "order failed", source: "box", tags: ["error"] });
    t.regex(event.created, /1700000000123/);
    t.like(event.attributes, { host: "box", user_id: 9001, "nested.a": true, id: "kept" });
    t.is(await dataOf(service, event.id), message.full_message);
  }
});

test("messages may be one per line, and need only one field", async (t) => {
  const service = await serviceOf(t, "embedded");
  const body = '{"short_message":"a"}\n\n{"full_message":"b"}\nno JSON\n{"_only":"extra","timestamp":"soon"}\n';
  t.is((await send(service, "/gelf", body)).status, 202);
  t.deepEqual((await eventsOf(service, 3)).map(({ text }) => text).toSorted(), [
    "a",
    "b",
    '{"only":"extra","timestamp":"soon"}',
  ]);
  for (const wrong of ["", "x", "[]", "1\n2"]) t.is((await send(service, "/gelf", wrong)).status, 400, wrong);
  t.is((await send(service, "/gelf", Buffer.from([0x1f, 0x8b, 0, 0]))).status, 400);
});
