import test from "ava";

import { eventOfDocument } from "../../../src/ingest/kit/document.ts";

const USUAL = { text: [], time: [], source: [], tags: [] };

test("the word of a level takes precedence over its number, whose scale is unknown", (t) => {
  const severityOf = (document: object) => eventOfDocument(document, USUAL).severity;
  t.is(severityOf({ message: "log4js", level: 50, level_name: "TRACE" }), "trace");
  t.is(severityOf({ message: "monolog", level: 200, level_name: "INFO" }), "info");
  t.is(severityOf({ message: "pino", level: 50 }), "error");
  t.is(severityOf({ data: ["log4js"], level: { level: 20_000, levelStr: "WARN", colour: "yellow" } }), "warn");
  t.is(severityOf({ message: "loglevel", level: { label: "error", value: 4 } }), "error");
});

test("the text may be within an object named message", (t) => {
  const event = eventOfDocument({ message: { msg: "Order 17", meta: { order: 17 } }, severity: "info" }, USUAL);
  t.like(event, { text: "Order 17", severity: "info" });
  t.deepEqual(Object.fromEntries(event.attributes), { "message.meta.order": 17, severity: "info" });
  t.is(eventOfDocument({ message: { message: "within" }, event: "beside" }, USUAL).text, "beside");
});

test("user and source may be objects that were sent as JSON", (t) => {
  const event = eventOfDocument({ message: "x", user: '{"name":"ann","id":7}', service: '{"id":5}' }, USUAL);
  t.like(event, { user: "ann", source: "5" });
  t.is(event.attributes.get("user"), '{"name":"ann","id":7}');
  t.like(eventOfDocument({ message: "x", user: '{"roles":[]}', service: "{shop}" }, USUAL), {
    user: "",
    source: "{shop}",
  });
});
