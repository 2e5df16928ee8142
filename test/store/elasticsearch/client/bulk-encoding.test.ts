import test from "ava";
import fc from "fast-check";
import { BulkOperations } from "../../../../src/store/elasticsearch/client/bulk-encoding.ts";

const OPERATION = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 9 }),
  fc.constantFrom("\n", "a line\n", "ä\n", "🎉🎉\n", "x".repeat(70)),
);
const OPERATIONS = fc.array(OPERATION, { maxLength: 40 });

/** Returns the text of each operation. */
function texts(operations: BulkOperations): string[] {
  return Array.from({ length: operations.length }, (_, i) => operations.slice(i, i + 1).bytes.toString());
}

test("encoded operations equal the originals, whole, in part and concatenated", (t) => {
  fc.assert(
    fc.property(
      fc.array(OPERATIONS, { maxLength: 5 }),
      fc.nat(),
      fc.nat(),
      fc.func(fc.boolean()),
      (lists, a, b, isPicked) => {
        const all = lists.flat();
        const bulk = BulkOperations.concat(lists.map((list) => BulkOperations.of(list)));
        t.is(bulk.length, all.length);
        t.is(bulk.bytes.toString(), all.join(""));
        t.is(bulk.size_bytes, Buffer.byteLength(all.join("")));
        t.deepEqual(texts(bulk), all);
        const bounds = [a % (all.length + 1), b % (all.length + 1)];
        const [start, end] = [Math.min(...bounds), Math.max(...bounds)];
        const places = [...all.keys()].filter((place) => isPicked(place));
        t.deepEqual(texts(bulk.slice(start, end)), all.slice(start, end));
        t.deepEqual(
          texts(bulk.pick(places)),
          places.map((place) => all[place]!),
        );
        const nested = bulk.slice(start, end).pick([...all.slice(start, end).keys()]);
        t.is(nested.bytes.toString(), all.slice(start, end).join(""));
      },
    ),
  );
});

test("requests are as large as allowed, and a larger operation is sent alone", (t) => {
  fc.assert(
    fc.property(OPERATIONS, fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 60 }), (all, most, maxBytes) => {
      const runs = [...BulkOperations.of(all).runs({ most, maxBytes })];
      t.deepEqual(runs.flatMap(texts), all);
      for (const [i, run] of runs.entries()) {
        t.true(run.length > 0 && run.length <= most);
        t.true(run.size_bytes <= maxBytes || run.length === 1);
        const next = runs[i + 1]?.slice(0, 1);
        t.true(next === undefined || run.length === most || run.size_bytes + next.size_bytes > maxBytes);
      }
    }),
  );
});
