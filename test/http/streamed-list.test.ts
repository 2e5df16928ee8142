import test from "ava";

import type { Format } from "../../src/http/formats.ts";
import { jsonPayload, render } from "../../src/http/formats.ts";
import { writeLong, writeNested } from "../../src/http/streamed-list.ts";
import type { LongList } from "../../src/http/streamed-list.ts";
import { turnsDuring } from "../support/turns.ts";

const FORMATS: readonly Format[] = [{ kind: "json" }, { kind: "xml" }, { kind: "jsonp", callback: "page0.show" }];

const NASTY = ["", "[]", "</results>", "a\u2028b\u0001", "<![CDATA[", "é€😀\ud800", '"\\'];

type Record = { readonly key: string; readonly count: string };

function listOf(records: readonly Record[], shown: (from: number) => void = () => {}): LongList {
  return {
    length: records.length,
    element: "aggregate",
    show: (from, to) => {
      shown(from);
      return records.slice(from, to);
    },
  };
}

const recordsOf = (length: number): Record[] =>
  Array.from({ length }, (_, i) => ({ key: `${NASTY[i % NASTY.length]} ${i}`, count: String(i) }));

for (const format of FORMATS) {
  for (const length of [0, 1, 999, 1_000, 1_001, 2_703]) {
    test(`${length} records as ${format.kind} equal the same list rendered at once`, async (t) => {
      const records = recordsOf(length);
      const expected = render(format, {
        json: jsonPayload(records),
        xml: () => ({ root: "results", content: { aggregate: records } }),
      });
      const { contentType, payload } = await writeLong(format, listOf(records), () => true);
      t.is(contentType, expected.contentType);
      t.true(payload.equals(Buffer.from(expected.payload)), payload.subarray(0, 200).toString());
    });
  }
}

for (const format of FORMATS) {
  for (const lengths of [[], [0], [1], [0, 999, 0, 1_001, 3], [250, 250]]) {
    test(`lists of ${lengths.join(", ")} records as ${format.kind} equal the same lists rendered at once`, async (t) => {
      const lists = lengths.map((length, i) => ({ head: { key: NASTY[i]! }, records: recordsOf(length) }));
      const expected = render(format, {
        json: jsonPayload(lists.map(({ head, records }) => ({ ...head, counts: records }))),
        xml: () => ({
          root: "results",
          content: { log: lists.map(({ head, records }) => ({ ...head, counts: { aggregate: records } })) },
        }),
      });
      const nested = { element: "log", field: "counts" };
      const written = await writeNested(
        format,
        { ...nested, lists: lists.map(({ head, records }) => ({ head, list: listOf(records) })) },
        () => true,
      );
      t.is(written.contentType, expected.contentType);
      t.is(written.payload.toString(), Buffer.from(expected.payload).toString());
    });
  }
}

test("nested lists are written with pauses for other work, and stop when the client disconnects", async (t) => {
  let shown = 0;
  const list = listOf(recordsOf(2_500), () => (shown += 1));
  const nested = { element: "log", field: "counts", lists: Array.from({ length: 8 }, () => ({ head: {}, list })) };
  const turns = await turnsDuring(() => writeNested({ kind: "xml" }, nested, () => true));
  t.true(turns >= 60, `${turns} turns`);
  t.is(shown, 2_000);
  await writeNested({ kind: "json" }, nested, () => shown < 2_005);
  t.is(shown, 2_005);
});

test("long lists are written one after the other, with pauses for other work", async (t) => {
  const order: string[] = [];
  const turns = await turnsDuring(() =>
    Promise.all(
      ["first", "second"].map((name) =>
        writeLong(
          { kind: "json" },
          listOf(recordsOf(10_000), () => void order.push(name)),
          () => true,
        ),
      ),
    ),
  );
  t.true(turns >= 20, `${turns} turns`);
  t.deepEqual(order, [
    ...Array.from({ length: 1_000 }, () => "first"),
    ...Array.from({ length: 1_000 }, () => "second"),
  ]);
});

test("a short list does not wait for the long ones", async (t) => {
  const ended: string[] = [];
  const written = (name: string, length: number) =>
    writeLong({ kind: "json" }, listOf(recordsOf(length)), () => true).then(() => ended.push(name));
  await Promise.all([written("long", 20_000), written("longer", 40_000), written("short", 500)]);
  t.deepEqual(ended, ["short", "long", "longer"]);
});

test("a list without a client is not written, and one that fails delays none after it", async (t) => {
  let shown = 0;
  await writeLong(
    { kind: "json" },
    listOf(recordsOf(5_000), () => (shown += 1)),
    () => shown < 2,
  );
  t.is(shown, 2);
  const failing = listOf(recordsOf(1), () => {
    throw new Error("it cannot be shown");
  });
  const [failed, next] = await Promise.allSettled([
    writeLong({ kind: "xml" }, failing, () => true),
    writeLong({ kind: "json" }, listOf(recordsOf(1)), () => true),
  ]);
  t.is(failed.status, "rejected");
  t.is(next.status, "fulfilled");
});
