import test from "ava";

import { classHint, fieldsHints, hintHeaders, parameterHints } from "../../src/query/hints.ts";

const hints = (query: string) => parameterHints(new URLSearchParams(query), ["tags", "text", "tz"]);

test("suggests a known parameter for one at most two edits away", (t) => {
  for (const [written, meant] of [
    ["tag", "tags"],
    ["tgas", "tags"],
    ["Tags", "tags"],
    ["txte", "text"],
    ["api_key", "apikey"],
    ["t", "tz"],
  ] as const) {
    t.deepEqual(hints(`${written}=1`), [`Unknown parameter ${written}. Did you mean ${meant}?`]);
  }
  t.deepEqual(hints("tags=1&_=5&v=2&cache=1&xy=1&fmt=xml&apikey=k&=3"), []);
  t.deepEqual(parameterHints(new URLSearchParams("attr.tag=1&attr.s=2"), ["attr.tags", "attrs"]), []);
});

test("suggests an attribute for a similar parameter, where lists are filtered by attributes", (t) => {
  const known = ["tags", "attributes", "attr."];
  for (const [written, meant] of [
    ["attrs.n", "attr.n"],
    ["atr.http.status", "attr.http.status"],
    ["ATTR.n", "attr.n"],
    ["attribute.n", "attr.n"],
    ["@odd name", "attr.odd name"],
  ] as const) {
    const query = new URLSearchParams([[written, "5"]]);
    const said = [`Unknown parameter ${written}. Did you mean ${meant}?`];
    t.deepEqual(parameterHints(query, known), said);
    t.deepEqual(parameterHints(query, ["tags"]), []);
  }
  t.deepEqual(parameterHints(new URLSearchParams("utm.source=5&attr.n=5&attributes=true&a.b=1"), known), []);
});

test("the header is short plain ASCII for any parameters", (t) => {
  const odd = ["tag\r\nSet-Cookie: a", "täg", "tag\ud800", "ta\u0000"].map((name) => classHint(name, ["tags"]));
  t.regex(hintHeaders(odd)["X-Loggia-Hint"]!, /^[\x20-\x7e]+$/);
  const many = new URLSearchParams(Array.from({ length: 5_000 }, (_, i) => ["tag".repeat(1 + (i % 2)), "1"]));
  t.is(
    Object.values(hintHeaders(parameterHints(many, ["tags"])))
      .join("")
      .split("Did").length,
    2,
  );
  const unknown = Array.from({ length: 30 }, (_, i): [string, string] => [`tag${i % 10}`, `${i}`]);
  t.is(parameterHints(new URLSearchParams(unknown), ["tags"]).length, 20, "no more are looked at");
  const long = hintHeaders(Array.from({ length: 500 }, (_, i) => classHint(`${i}`.repeat(500), [])));
  t.true(long["X-Loggia-Hint"]!.length <= 1_000);
  t.deepEqual(hintHeaders([]), {});
});

test("a list of fields says what it leaves out", (t) => {
  t.deepEqual(fieldsHints({ unlisted: 0, withoutValues: 0 }), []);
  t.deepEqual(hintHeaders(fieldsHints({ unlisted: 12, withoutValues: 3 })), {
    "X-Loggia-Hint":
      "The most frequent attributes are listed; about 12 more are not. Give a longer prefix or a shorter time. " +
      "3 fields are listed without their values, too many or too long in all. Give a longer prefix or a shorter time.",
  });
});
