import test from "ava";

import { LoggiaError } from "../../src/errors.ts";
import { jsonPayload, negotiate, render, wrapJsonp } from "../../src/http/formats.ts";
import { Moment } from "../../src/http/moment.ts";

const event = { id: "4dfdfd4d", created: new Moment(1308491673911), text: "a/b", tags: [] as string[], class: null };
const body = {
  json: jsonPayload([event]),
  xml: () => ({ root: "results", content: { event: [{ ...event, tags: { tag: event.tags } }] } }),
};

test("JSON keeps the order of keys and escapes only the slashes of moments", (t) => {
  const { contentType, payload } = render({ kind: "json" }, body);
  t.is(contentType, "application/json; charset=utf-8");
  t.is(
    payload,
    String.raw`[{"id":"4dfdfd4d","created":"\/Date(1308491673911)\/","text":"a/b","tags":[],"class":null}]`,
  );
  t.is((JSON.parse(payload) as { created: string }[])[0]?.created, "/Date(1308491673911)/");
});

test("XML has moments in ISO 8601 and an empty element for null", (t) => {
  const { contentType, payload } = render({ kind: "xml" }, body);
  t.is(contentType, "text/xml; charset=utf-8");
  t.is(
    payload,
    '<?xml version="1.0" encoding="utf-8"?><results><event><id>4dfdfd4d</id>' +
      "<created>2011-06-19T13:54:33.911Z</created><text>a/b</text><tags/><class/></event></results>",
  );
});

test("JSONP calls the callback with the JSON, in a script that older engines can parse", (t) => {
  const { contentType, payload } = render(
    { kind: "jsonp", callback: "page.show" },
    { ...body, json: jsonPayload("a\u2028b\u2029c") },
  );
  t.is(contentType, "application/javascript; charset=utf-8");
  t.is(payload, String.raw`/**/page.show("a\u2028b\u2029c");`);
  t.is(wrapJsonp("f", "[1]"), "/**/f([1]);");
});

for (const [accept, expected] of [
  [undefined, "json"],
  ["", "json"],
  ["*/*", "json"],
  ["application/json", "json"],
  ["text/xml", "xml"],
  ["TEXT/XML", "xml"],
  ["application/xml", "xml"],
  ["text/*", "xml"],
  ["application/*", "json"],
  ["text/xml;q=0.5, application/json;q=0.4", "xml"],
  ["text/xml;q=0.4, application/json;q=0.5", "json"],
  ["text/xml, application/json", "json"],
  ["text/xml, */*", "xml"],
  ["text/xml;q=0, */*", "json"],
  ["application/json;q=0, text/xml;q=0.1", "xml"],
  ["application/json;q=0, */*", "xml"],
  ["image/png", "json"],
  ["text/xml;q=0", "json"],
  ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "xml"],
  ["text/xml;q=nonsense", "xml"],
  [",;,", "json"],
] as const) {
  test(`Accept: ${accept} gets ${expected}`, (t) => {
    t.is(negotiate(new URLSearchParams(), accept).kind, expected);
  });
}

test("fmt wins over Accept", (t) => {
  t.is(negotiate(new URLSearchParams("fmt=json"), "text/xml").kind, "json");
  t.is(negotiate(new URLSearchParams("fmt=XML"), "application/json").kind, "xml");
  t.is(negotiate(new URLSearchParams("fmt="), "text/xml").kind, "xml");
  t.deepEqual(negotiate(new URLSearchParams("fmt=jsonp&callback=a.b"), "text/xml"), { kind: "jsonp", callback: "a.b" });
});

test("an unknown fmt is refused with an error that lists the formats", (t) => {
  const error = t.throws(() => negotiate(new URLSearchParams("fmt=yaml"), undefined), { instanceOf: LoggiaError });
  t.is(error.code, "bad_parameter");
  t.regex(error.message, /json, xml or jsonp/);
});

for (const callback of ["f", "$", "_x1", "jQuery18_3", "page.list.show", "été", "a".repeat(128)]) {
  test(`the callback ${callback} is valid`, (t) => {
    t.deepEqual(negotiate(new URLSearchParams({ fmt: "jsonp", callback }), undefined), { kind: "jsonp", callback });
  });
}

for (const callback of [
  "",
  "1a",
  "a b",
  "alert(1)//",
  "a;b",
  "a.",
  ".a",
  "a..b",
  "a[0]",
  "a-b",
  "a\n",
  "<a",
  "a".repeat(129),
]) {
  test(`the callback ${JSON.stringify(callback)} is invalid`, (t) => {
    const query = new URLSearchParams({ fmt: "jsonp", callback });
    t.is(t.throws(() => negotiate(query, undefined), { instanceOf: LoggiaError }).code, "bad_parameter");
  });
}
