import test from "ava";

import { FIELD_NAMES, XML_FIELD_NAMES } from "../../src/events/field-order.ts";
import { EVENT_SCHEMA, fieldsWith } from "../../src/events/schema.ts";

test("each format names every field once", (t) => {
  const names = Object.keys(EVENT_SCHEMA).toSorted();
  t.deepEqual(FIELD_NAMES.toSorted(), names);
  t.deepEqual(XML_FIELD_NAMES.toSorted(), names);
});

test("fields are found by what is known of them", (t) => {
  t.deepEqual(fieldsWith({ type: "annotation" }), ["bookmarks", "alerts"]);
  t.deepEqual(fieldsWith({ report: "count", sorts: true }), ["created", "text"]);
});
