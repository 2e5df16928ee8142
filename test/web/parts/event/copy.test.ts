import test from "ava";

import { parseQuery } from "../../../../src/query/parser.ts";
import { copyAs, noteOfCopy } from "../../../../src/web/parts/event/copy.ts";
import { rowOf } from "../../support/rows.ts";

const event = rowOf(5, {
  text: "it's down",
  class: "error",
  source: "web",
  tags: ["a", "b"],
  value: 2.5,
  attributes: { "http.status": 502, codes: [1, 2] },
});
const copied = { event, data: "line 1\nline 2", log: "shop", api: "http://127.0.0.1:8080" };

test("the text contains everything in the event", (t) => {
  t.is(
    copyAs("text", copied),
    [
      "1970-01-12T13:46:45.000Z error web it's down",
      "tags: a b",
      "value: 2.5",
      "@http.status: 502",
      "@codes: 1, 2",
      `id: ${event.id}`,
      "",
      "line 1\nline 2",
    ].join("\n"),
  );
});

test("the JSON contains the data itself, and a readable moment", (t) => {
  const json = JSON.parse(copyAs("json", copied)) as Record<string, unknown>;
  t.like(json, {
    created: "1970-01-12T13:46:45.000Z",
    log: "shop",
    data: "line 1\nline 2",
    attributes: { codes: [1, 2] },
  });
  t.false("bookmarks" in json);
});

test("the query matches this event alone", (t) => {
  const text = copyAs("lql", copied);
  t.is(text, `GET events WHERE id = '${event.id}' OCCURS('1970-01-12T13:46:45.000Z', '1970-01-12T13:46:45.001Z')`);
  t.notThrows(() => parseQuery(text));
});

test("the command reads this event, and contains no password", (t) => {
  const url = `http://127.0.0.1:8080/1/logs/shop/events/${event.id}?attributes=true`;
  t.is(copyAs("curl", copied), `curl -u YOU@EXAMPLE.COM '${url}'`);
});

test("invisible characters are mentioned", (t) => {
  t.is(noteOfCopy("a\nb"), null);
  t.is(noteOfCopy("a\u202eb"), "Copied with its invisible characters");
});
