import test from "ava";

import { acceptedAt, createIdSource, type EventId, firstIdAt, parseEventId } from "../../src/events/id.ts";

test("an id begins with the second of acceptance and contains its millisecond", (t) => {
  const next = createIdSource({ now: () => 1_308_491_673_911 });
  const { id, created } = next();
  t.regex(id, /^[0-9a-f]{24}$/);
  t.is(parseInt(id.slice(0, 8), 16), 1_308_491_673);
  t.is(acceptedAt(id), 1_308_491_673_911);
  t.is(created, 1_308_491_673_911);
});

test("ids ascend strictly within one moment, also beyond its counter", (t) => {
  const next = createIdSource({ now: () => 5_000 });
  let last = "";
  for (let i = 0; i < 0x100000 + 10; i++) {
    const { id } = next();
    if (id <= last) return t.fail(`${id} after ${last}`);
    last = id;
  }
  t.is(acceptedAt(last as EventId), 5_001);
});

test("ids and created ascend when the clock is set back", (t) => {
  const clock = [10_000, 6_400, 9_999, 10_001];
  const next = createIdSource({ now: () => clock.shift() ?? 0 });
  const made = [next(), next(), next(), next()];
  t.deepEqual(
    made.map(({ created }) => created),
    [10_000, 10_000, 10_000, 10_001],
  );
  t.deepEqual(
    made.map(({ id }) => id).toSorted(),
    made.map(({ id }) => id),
  );
});

test("two processes do not assign the same id", (t) => {
  t.not(createIdSource({ now: () => 7 })().id, createIdSource({ now: () => 7 })().id);
});

test("only 24 hex digits in lower case are an id", (t) => {
  t.is(parseEventId("4DFDF4990003E80000ABCDEF") as string, "4dfdf4990003e80000abcdef");
  for (const text of ["", "4dfdf499", "4dfdf4990003e80000abcdeg", "4dfdf4990003e80000abcdef0"])
    t.is(parseEventId(text), null);
});

test("the first id of a moment is not larger than any assigned in it", (t) => {
  const { id } = createIdSource({ now: () => 1_700_000_000_123 })();
  t.true(firstIdAt(1_700_000_000_123) <= id);
  t.true(firstIdAt(1_700_000_000_124) > id);
});
