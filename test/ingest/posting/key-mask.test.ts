import test from "ava";

import { isKeyField, KeyMask } from "../../../src/ingest/posting/key-mask.ts";
import { dataOf, eventsOf, send } from "../posting.ts";
import { KEY, LOG, serviceOf } from "../../support/service.ts";

const EVENTS = `/1/logs/${LOG}/events`;
const OTHER = "another-key-of-the-log";
const ESCAPED = String.raw`\u006b` + KEY.slice(1);
const FORM = { "Content-Type": "application/x-www-form-urlencoded" };
const JSON_TYPE = { "Content-Type": "application/json", apikey: KEY };
const LINES = { "Content-Type": "application/x-ndjson", apikey: KEY };
const MISSING = "value=x&geo=y";

type Post = readonly [what: string, path: string, body: string | null, headers?: Record<string, string>];

const POSTS: readonly Post[] = [
  ["query and form", `${EVENTS}?apikey=${KEY}`, `${MISSING}&apikey=${KEY}`, FORM],
  ["the form twice", EVENTS, `apikey=${KEY}&${MISSING}&apikey=${OTHER}&apikey=${KEY}`, FORM],
  ["another case", EVENTS, `apikey=${KEY}&APIKEY=${KEY}&ApiKey=${OTHER}&${MISSING}`, FORM],
  ["an attribute", EVENTS, `apikey=${KEY}&attr.apikey=${OTHER}&attr.other=${KEY}&${MISSING}`, FORM],
  ["another field, cut where a fault quotes it", EVENTS, `apikey=${KEY}&value=${"x".repeat(30)}${KEY}`, FORM],
  ["the name of a field", EVENTS, `apikey=${KEY}&${KEY}=1&${MISSING}`, FORM],
  ["a percent-encoded value within a value", EVENTS, `apikey=${KEY}&link=a%253D%256B${KEY.slice(1)}&${MISSING}`, FORM],
  ["JSON as a form", EVENTS, `{"apikey":"${OTHER}","tex":"${KEY}"}`, { ...FORM, apikey: KEY }],
  ["the form of a user", `/1/logs/${LOG}/users`, `apikey=${KEY}&page=${KEY}&Apikey=${OTHER}`, FORM],
  ["JSONP", `${EVENTS}?fmt=jsonp&callback=f&apikey=${KEY}&apikey=${OTHER}&link=${KEY}&${MISSING}`, null],
  ["members that occur twice", EVENTS, `{"apikey":"${OTHER}","value":"x","apikey":"${KEY}"}`, JSON_TYPE],
  ["an escaped name", EVENTS, `{"\\u0061pikey":"${OTHER}","value":"x","link":"${ESCAPED}"}`, JSON_TYPE],
  ["a member within", EVENTS, `{"attributes":{"a":{"apikey":"${OTHER}"}},"value":"x"}`, JSON_TYPE],
  ["invalid JSON", EVENTS, `{"apikey":"${OTHER}","link":"${KEY}",}`, JSON_TYPE],
  ["an event of an array", EVENTS, `[{"text":"good"},{"apikey":"${OTHER}","value":"${KEY}"}]`, JSON_TYPE],
  ["an array as an event", EVENTS, `[{"text":"good"},[{"apikey":"${OTHER}"}]]`, JSON_TYPE],
  [
    "lines, of which none is JSON",
    EVENTS,
    `{"apikey":"${OTHER}" "${KEY}"}\n{"\\u0061PIKEY" : "${ESCAPED}\n{apikey:${OTHER}\n"apikey=${KEY}"\n"${KEY.slice(0, 5)}`,
    LINES,
  ],
  ["a line whose fault quotes it", EVENTS, `{"text":"good"}\n{"text":"a",${KEY}}\n{"value":"${KEY}"}`, LINES],
];

test("no error event holds a key, wherever and however often a post contains it", async (t) => {
  const service = await serviceOf(t, "embedded");
  for (const [what, path, body, headers = {}] of POSTS) {
    const method = body === null ? "GET" : "POST";
    const { status } = await send(service, path, body, { method, headers: { "X-None": "key", ...headers } });
    t.true(status === 400 || status === 201, `${what}: ${status}`);
  }
  const events = (await eventsOf(service, POSTS.length + 4)).filter(({ source }) => source === "event-log");
  t.true(events.length >= POSTS.length);
  for (const { id, text } of events) {
    const stored = `${text}\n${await dataOf(service, id)}`.toLowerCase();
    for (const trace of [KEY, KEY.slice(1), KEY.slice(0, 8), OTHER, "another-"]) t.notRegex(stored, new RegExp(trace));
  }
});

test("what is not a key stays, and so does the length of a text", (t) => {
  const mask = new KeyMask("k+y/1");
  t.is(mask.hide("a k+y/1 b k+y/2 kky/1"), "a ***** b k+y/2 kky/1");
  t.is(mask.hide(String.raw`k\u002By\/1`), "*".repeat(11));
  t.is(mask.hide("k%2by%2f1"), "*".repeat(9));
  t.is(mask.hide(String.raw`{\"a\":\"\\u006b+y/1\"}`), String.raw`{\"a\":\"${"*".repeat(11)}\"}`);
  t.is(
    mask.hideUnparsed('{"text":"no key", "apikey" : "a b\\"c", "n":1'),
    '{"text":"no key", "apikey" : ********, "n":1',
  );
  t.is(mask.hideUnparsed("apikey=abc&text=x"), "apikey=***&text=x");
  t.is(new KeyMask("").hide("text"), "text");
  t.deepEqual(["apikey", " APIKEY", "attr.ApiKey", "X-ApiKey", "apikeys", "text"].map(isKeyField), [
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});

test("masking takes linear time", (t) => {
  const mask = new KeyMask(KEY);
  for (const part of ["\\", "apikey", 'apikey":"', "apikey = ", "k\\", KEY.slice(0, -1)]) {
    const text = part.repeat(1_000_000 / part.length);
    const start_ms = performance.now();
    mask.hideUnparsed(text);
    t.true(performance.now() - start_ms < 5_000, part);
  }
});
