import test from "ava";

import { Tallies } from "../../../../src/store/elasticsearch/read/tallies.ts";

test("values are counted once for each event, of the given columns only", (t) => {
  const tallies = new Tallies(new Set(["a", "b"]));
  tallies.add("a", ["x", "x", "y"]);
  tallies.add("a", ["x"]);
  tallies.add("c", ["x"]);
  t.deepEqual(
    tallies.of("a"),
    new Map([
      ["x", 2],
      ["y", 1],
    ]),
  );
  t.is(tallies.of("b"), undefined);
  t.is(tallies.of("c"), undefined);
});

test("beyond the limits the columns with the most values, or the longest, are dropped for good", (t) => {
  const tallies = new Tallies(new Set(["ids", "texts", "host"]), { values: 10, length: 1_000 });
  tallies.add("host", ["web"]);
  for (let i = 0; i < 10; i++) tallies.add("ids", [String(i)]);
  t.true(tallies.isDropped("ids"));
  tallies.add("ids", ["0"]);
  t.is(tallies.of("ids"), undefined);
  tallies.add("texts", ["x".repeat(1_000)]);
  t.true(tallies.isDropped("texts"));
  t.false(tallies.isDropped("host"));
  t.deepEqual(tallies.of("host"), new Map([["web", 1]]));
});
