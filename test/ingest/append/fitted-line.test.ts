import test from "ava";

import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { fittedLine } from "../../../src/ingest/append/fitted-line.ts";
import { USUAL } from "../../../src/ingest/kit/choice.ts";
import { eventOfDocument } from "../../../src/ingest/kit/document.ts";

test("a text made of attributes has those of the document alone", (t) => {
  const read_ms = Date.UTC(2026, 10, 20, 10);
  const textOf = (document: object): unknown => {
    const attributes = new Map([["_index", "orders"], ["_id", "7"]]); // prettier-ignore
    const event = eventOfDocument(document, USUAL, { attributes });
    const { line } = fittedLine(event, { limits: DEFAULT_LIMITS, read_ms, tags: [] });
    const { text, attributes: stored } = JSON.parse(`{${line.fields}`) as { text: string; attributes: object };
    t.like(stored, { _index: "orders", _id: "7" });
    return text;
  };
  t.is(textOf({ n: 1, time: "2026-11-20T09:00:00.123456789Z" }), '{"n":1}');
  t.is(textOf({ n: 1, time: "2026-11-20T12:00:00Z" }), '{"n":1}');
  t.is(textOf({ time: "2026-11-20T09:00:00.123456789Z" }), "{}");
});
