import test from "ava";
import { parseLogKey } from "../../../src/events/event.ts";
import type { ClassFilter } from "../../../src/catalog/catalog.ts";
import { createMatcherCache } from "../../../pipelines/classify/classify.ts";

function filters(count: number): ClassFilter[] {
  return Array.from({ length: count }, (_, i) => ({
    key: `k${i}`,
    display: "",
    color: "",
    tag: `t${i}`,
    text: "",
    link: "",
    source: "",
    weight: 0,
  }));
}

const [A, B, C] = ["a", "b", "c"].map((key) => parseLogKey(key)!) as [never, never, never];

test("a matcher is compiled once for each list of filters", (t) => {
  const matcherOf = createMatcherCache();
  const first = filters(2);
  const match = matcherOf(A, first);
  t.is(matcherOf(A, first), match);
  t.is(match({ text: "", link: "", source: "", tags: ["T1"] }), "k1");
  const second = filters(1);
  const changed = matcherOf(A, second);
  t.not(changed, match);
  t.is(changed({ text: "", link: "", source: "", tags: ["t1"] }), null);
});

test("the matchers of the logs that were quiet longest are let go", (t) => {
  const matcherOf = createMatcherCache(200);
  const [a, b, c] = [filters(5), filters(5), filters(5)];
  const [first, second] = [matcherOf(A, a), matcherOf(B, b)];
  t.is(matcherOf(A, a), first);
  matcherOf(C, c);
  t.is(matcherOf(A, a), first, "used after B, so kept");
  t.not(matcherOf(B, b), second);
});

test("a log that alone has more filters than all may have is served, too", (t) => {
  const matcherOf = createMatcherCache(60);
  const many = filters(10);
  const match = matcherOf(A, many);
  t.is(matcherOf(A, many), match);
});

test("a log without filters holds nothing", (t) => {
  const matcherOf = createMatcherCache(40);
  const [a, b] = [filters(2), filters(2)];
  const match = matcherOf(A, a);
  t.is(matcherOf(A, [])({ text: "", link: "", source: "", tags: ["t0"] }), null);
  matcherOf(B, b);
  t.not(matcherOf(A, a), match);
});
