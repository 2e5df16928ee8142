import test from "ava";
import { createHash } from "node:crypto";
import * as fc from "fast-check";

import { fold } from "../../../../src/events/text.ts";
import { parseAttributes } from "../../../../src/events/attributes.ts";
import { equalsAttribute } from "../../../../src/query/attributes.ts";
import type { Condition } from "../../../../src/query/plan.ts";
import type { LogKey, StoredEvent } from "../../../../src/events/event.ts";
import { valuesIn } from "../../../../src/store/duckdb/database/attributes.ts";
import { mayMeet, tokenCondition } from "../../../../src/store/duckdb/blocks/token-condition.ts";
import { TokenFilter } from "../../../../src/store/duckdb/blocks/token-filter.ts";
import { TokenList } from "../../../../src/store/duckdb/blocks/token-list.ts";
import { addTokensOfEvent, addTokensOfText, LEAST_LENGTH } from "../../../../src/store/duckdb/blocks/tokens.ts";
import { anyText, conditions, storedEvent } from "../../../reference/arbitrary.ts";
import { holds } from "../../../reference/evaluate.ts";
import { event } from "../../../contract/store-fixture.ts";

const LOG = "shop" as LogKey;
const anyToken = fc.oneof(fc.nat(50), fc.nat(2 ** 30 - 1));

function tokensOf(text: string): number[] {
  const list = new TokenList();
  addTokensOfText(text, list);
  return [...list.tokens];
}

function filterOf(...events: StoredEvent[]): TokenFilter {
  const tokens = new TokenList();
  for (const each of events) {
    addTokensOfEvent(each, each.attributes === null ? [] : valuesIn(each.attributes), tokens);
  }
  return TokenFilter.of(tokens);
}

/** Returns conditions on the event's fields that the event meets. */
function conditionsOn({ text, tags, source, user, attributes }: StoredEvent): fc.Arbitrary<Condition> {
  const equal = (field: "text" | "tags" | "source" | "user" | `@${string}`, value: string): Condition => ({
    kind: "text",
    field,
    op: "=",
    value: fold(value),
  });
  const values = [...parseAttributes(attributes)].flatMap(([name, value]) =>
    [value].flat().map((one) => equalsAttribute(`@${name}`, String(one))),
  );
  const parts = fc.tuple(fc.nat(20), fc.nat(40)).map(([from, length]) => text.slice(from, from + length) || text);
  return fc.oneof(
    fc.constantFrom(
      equal("text", text),
      equal("source", source),
      equal("user", user),
      ...tags.map((tag) => equal("tags", tag)),
      ...values,
    ),
    parts.map((value) => ({ kind: "contains" as const, field: "text" as const, value: value.toWellFormed() })),
  );
}

test("a token list holds each token, few of them twice, also after growing and clearing", (t) => {
  const list = new TokenList();
  const property = fc.property(fc.array(anyToken, { maxLength: 3_000 }), (tokens) => {
    for (const token of tokens) list.add(token);
    const held = [...list.tokens];
    const expected = new Set(tokens);
    const isSame =
      held.length <= tokens.length &&
      new Set(held).size === expected.size &&
      held.every((token) => expected.has(token));
    list.clear();
    return isSame && list.size === 0;
  });
  fc.assert(property, { numRuns: 300 });
  for (let i = 0; i < 10_000; i++) list.add(i % 500);
  t.true(list.size <= 500);
});

test("the tokens of a text include those of each substring, in any case", (t) => {
  const inText = fc.tuple(anyText({ minLength: LEAST_LENGTH, maxLength: 60 }), fc.nat(50), fc.nat(50));
  const property = fc.property(inText, fc.boolean(), ([text, from, length], isUpper) => {
    const folded = fold(text);
    const part = folded.slice(from, from + LEAST_LENGTH + length);
    if (part.length < LEAST_LENGTH || !part.isWellFormed()) return true;
    const asked = tokensOf(part);
    const held = new Set(tokensOf(isUpper && /^[ -~]*$/.test(text) ? text.toUpperCase() : text));
    return asked.length > 0 && asked.every((token) => held.has(token));
  });
  fc.assert(property, { numRuns: 5_000 });
  t.pass();
});

test("the tokens of a text are those of its substrings of minimum length", (t) => {
  const long = fc.tuple(anyText({ minLength: LEAST_LENGTH, maxLength: 40 }), fc.nat(3_000)).map(([text, length]) => {
    const numbered = Array.from({ length: 1 + length / text.length }, (_, i) => text + String(i * 7_919));
    return fold(numbered.join("").toWellFormed());
  });
  const property = fc.property(long, (text) => {
    const places = Array.from({ length: text.length - LEAST_LENGTH + 1 }, (_, from) => from);
    // A substring that begins or ends with half a surrogate pair does not count.
    if (/[\ud800-\udfff]/.test(text)) return true;
    const ofParts = places.flatMap((from) => tokensOf(text.slice(from, from + LEAST_LENGTH)));
    return (
      ofParts.length === places.length &&
      new Set(ofParts).difference(new Set(tokensOf(text))).size === 0 &&
      new Set(tokensOf(text)).difference(new Set(ofParts)).size === 0
    );
  });
  fc.assert(property, { numRuns: 300 });
  t.pass();
});

test("a text below the minimum length has no tokens, a long one about half as many as characters", (t) => {
  t.deepEqual(tokensOf("a".repeat(LEAST_LENGTH - 1)), []);
  t.is(tokensOf("a".repeat(100)).length, 1);
  const count = tokensOf(createHash("shake256", { outputLength: 500 }).update("x").digest("hex")).length;
  t.true(count > 300 && count < 700, `${count}`);
});

test("an event that meets a condition is in no block that the condition excludes", (t) => {
  let asked = 0;
  const asking = storedEvent([LOG]).chain((one) =>
    fc.tuple(fc.constant(one), fc.oneof(conditions([LOG]), conditionsOn(one))),
  );
  const property = fc.property(asking, storedEvent([LOG]), ([one, where], other) => {
    const condition = tokenCondition(where);
    if (condition === null || !holds(where, one)) return true;
    asked += 1;
    return mayMeet(filterOf(one), condition) && mayMeet(filterOf(other, one), condition);
  });
  fc.assert(property, { numRuns: 5_000 });
  t.true(asked > 200, `${asked} conditions were asked`);
});

test("conditions of each kind exclude the expected blocks", (t) => {
  const filter = filterOf(
    event(LOG, {
      text: "GET /orders request=4f2a9c11d0 took 12 ms",
      tags: ["Slow"],
      source: "web-1",
      user: "ann@example.com",
      attributes: '{"http.status":500,"codes":["a","B"],"spelt":"007"}',
    }),
  );
  const may = (where: Parameters<typeof tokenCondition>[0]): boolean | null => {
    const condition = tokenCondition(where);
    return condition === null ? null : mayMeet(filter, condition);
  };
  const text = (field: "text" | "tags" | "source" | "user" | "link" | `@${string}`, value: string) =>
    ({ kind: "text", field, op: "=", value }) as const;
  const number = (field: `@${string}`, value: number) => ({ kind: "number", field, op: "=", value }) as const;
  t.true(may({ kind: "contains", field: "text", value: "REQUEST=4f2a" }));
  t.false(may({ kind: "contains", field: "text", value: "response=4f2b9c1" }));
  t.is(may({ kind: "contains", field: "text", value: "4f2b" }), null, "it is too short");
  t.true(may({ kind: "matches", field: "text", pattern: "orders.*request=[0-9a-f]+" }));
  t.false(may({ kind: "matches", field: "text", pattern: "orders.*response=[0-9a-f]+" }));
  t.deepEqual([may(text("tags", "slow")), may(text("tags", "fast"))], [true, false]);
  t.deepEqual([may(text("source", "web-1")), may(text("source", "web-2"))], [true, false]);
  t.deepEqual([may(text("user", "ann@example.com")), may(text("user", "bob@example.com"))], [true, false]);
  t.deepEqual([may(number("@http.status", 500)), may(number("@http.status", 404))], [true, false]);
  t.deepEqual([may(number("@spelt", 7)), may(text("@spelt", "007")), may(text("@spelt", "7"))], [true, true, false]);
  t.deepEqual([may(text("@codes", "b")), may(text("@codes", "c"))], [true, false]);
  t.deepEqual([may(text("source", "")), may(text("link", "x"))], [null, null]);
  const [there, absent] = [text("tags", "slow"), text("tags", "fast")];
  t.is(may({ kind: "not", condition: absent }), null);
  t.true(may({ kind: "or", conditions: [absent, there] }));
  t.false(may({ kind: "and", conditions: [absent, there] }));
  t.is(may({ kind: "or", conditions: [absent, text("link", "x")] }), null, "of the other nothing is known");
  t.false(may({ kind: "and", conditions: [absent, text("link", "x")] }));
  t.false(may({ kind: "or", conditions: [] }));
  t.deepEqual(
    [
      may({ kind: "in", field: "source", values: ["web-2", "web-1"] }),
      may({ kind: "in", field: "source", values: ["web-2"] }),
      may({ kind: "in", field: "source", values: ["web-2", ""] }),
    ],
    [true, false, null],
  );
});

test("a filter that is damaged, truncated or of another release is ignored", (t) => {
  const tokens = new TokenList();
  for (let i = 1; i < 1_000; i++) tokens.add(i * 7_919);
  const encoded = TokenFilter.of(tokens).encode();
  const filter = TokenFilter.decode(encoded)!;
  for (let i = 1; i < 1_000; i++) t.true(filter.mayHold(i * 7_919));
  const wrong = Array.from({ length: 10_000 }, (_, i) => filter.mayHold(i * 7_919 + 1)).filter(Boolean);
  t.true(wrong.length > 500 && wrong.length < 2_500, `${wrong.length} of 10,000 others seem to be there`);
  for (let place = 0; place < encoded.length; place++) {
    const damaged = Buffer.from(encoded);
    damaged[place]! ^= 1 << (place % 8);
    if (TokenFilter.decode(damaged) !== null) t.fail(`byte ${place}`);
  }
  for (const length of [0, 5, 12, encoded.length - 1]) t.is(TokenFilter.decode(encoded.subarray(0, length)), null);
});
