import test from "ava";

import { judge } from "./judge.ts";
import { createRandom, mutate } from "./random.ts";

const JSON_TYPE = { "Content-Type": "application/json; charset=utf-8" };
const fault = (status: number, message: string) => ({
  status,
  headers: new Headers({ ...JSON_TYPE, "Retry-After": "1" }),
  text: JSON.stringify({ error: { status, code: "bad_query", message } }),
});

test("accepts valid responses", async (t) => {
  for (const [type, text] of [
    ["application/json; charset=utf-8", '[{"text":"a stack that somebody posted:\\n    at f (x.ts:1:1)"}]'],
    ["text/xml; charset=utf-8", "<results><a>1</a></results>"],
    ["application/javascript; charset=utf-8", '/**/page.show({"a":1});'],
    ["application/javascript; charset=utf-8", "/**/if([]);"],
    ["text/plain; version=0.0.4", "a 1\n"],
    ["", ""],
  ] as const) {
    t.is(await judge({ status: 200, headers: new Headers({ "Content-Type": type }), text }), null, text);
  }
  t.is(await judge(fault(400, "Line 1, column 2: expected WHERE")), null);
  t.is(await judge(fault(503, "Too many")), null);
  t.is(await judge(fault(400, 'The parameter text is "x.ts:1"; it must be RE2')), null, "the caller's own words");
});

test("rejects invalid responses", async (t) => {
  const wrong = async (answer: Parameters<typeof judge>[0]) => t.not(await judge(answer), null, answer.text);
  await wrong(fault(500, "It failed"));
  await wrong(fault(400, "TypeError\n    at f (file:///srv/x.ts:1:1)"));
  await wrong(fault(400, "at handle (node:internal/process)"));
  await wrong(fault(400, "Binder Error: no such column"));
  await wrong({ ...fault(400, "It says another status"), status: 404 });
  await wrong({ ...fault(503, "no Retry-After"), headers: new Headers(JSON_TYPE) });
  await wrong({ status: 200, headers: new Headers(JSON_TYPE), text: "[1" });
  await wrong({ status: 302, headers: new Headers(JSON_TYPE), text: "{}" });
  const as = (type: string, text: string) =>
    wrong({ status: 200, headers: new Headers({ "Content-Type": type }), text });
  await as("text/xml", "<a><b></a>");
  await as("text/html", "<p>");
  await as("application/javascript", "/**/f();f();");
  await as("application/javascript", "/**/f(1");
  await as("application/javascript", "alert(1)");
});

test("a seed reproduces the inputs, and they differ from the original", (t) => {
  const original = Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const inputs = (seed: number) => {
    const random = createRandom(seed);
    return Array.from({ length: 50 }, () => mutate(random, original).toString("latin1"));
  };
  t.deepEqual(inputs(7), inputs(7));
  t.notDeepEqual(inputs(7), inputs(8));
  t.true(new Set(inputs(7)).size > 40);
});
