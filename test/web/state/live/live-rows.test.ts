import test from "ava";
import fc from "fast-check";

import { LiveRows } from "../../../../src/web/state/live/live-rows.ts";
import { PagedRows } from "../../../../src/web/parts/rows/paged-rows.ts";
import { listQuestion } from "../../../../src/web/parts/rows/question.ts";
import { textWithCondition } from "../../../../src/web/parts/query/clauses.ts";
import type { TimeOrder } from "../../../../src/web/parts/rows/question.ts";
import { until } from "../../../support/until.ts";
import { ReferenceService } from "../../support/service.ts";
import { rowOf, rowsOf } from "../../support/rows.ts";

function liveRows(service: ReferenceService, order: TimeOrder = "desc"): LiveRows {
  return new LiveRows({
    order,
    shown: 8,
    held: 5,
    older: (id) => {
      const range = { from: 0, to: 9_000_000_000_000 };
      const question = listQuestion(textWithCondition("GET events", `id < '${id}'`), range, "desc");
      return new PagedRows({ question, read: service.read, first: 3, page: 4 });
    },
  });
}

function idsOf(rows: LiveRows): string[] {
  return Array.from({ length: rows.length.peek() }, (_, index) => rows.idAt(index)!);
}

async function allIdsOf(rows: LiveRows): Promise<string[]> {
  await until(
    () => {
      rows.need(0, rows.length.peek());
      return rows.isComplete.peek();
    },
    { what: "the oldest row", interval_ms: 1 },
  );
  return idsOf(rows);
}

test("new rows are added at the growing end, and the oldest are dropped from memory", (t) => {
  for (const order of ["asc", "desc"] as const) {
    const rows = liveRows(new ReferenceService([]), order);
    rows.arrive(rowsOf(0, 6));
    rows.arrive(rowsOf(4, 10));
    const expected = rowsOf(2, 10).map(({ id }) => id);
    t.deepEqual(idsOf(rows), order === "asc" ? expected : expected.toReversed());
    t.is(rows.indexOf(rowOf(9).id), order === "asc" ? 7 : 0);
    t.is(rows.indexOf(rowOf(0).id), -1);
  }
});

test("nothing moves during a pause, and all new rows are added after it, once", (t) => {
  const rows = liveRows(new ReferenceService([]));
  rows.arrive(rowsOf(0, 3));
  rows.pause();
  const version = rows.version.peek();
  rows.arrive(rowsOf(2, 5));
  t.is(rows.version.peek(), version);
  t.is(rows.waiting.peek(), 2);
  rows.resume();
  t.deepEqual(
    idsOf(rows),
    rowsOf(0, 5)
      .map(({ id }) => id)
      .toReversed(),
  );
  t.is(rows.waiting.peek(), 0);
});

test("whatever arrives, in a pause or not, a reader who scrolls back finds every event once", async (t) => {
  const steps = fc.array(fc.oneof(fc.constantFrom("pause", "resume", "read"), fc.integer({ min: 1, max: 12 })));
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom<TimeOrder>("asc", "desc"), async (all, order) => {
      const service = new ReferenceService(rowsOf(0, 5));
      const rows = liveRows(service, order);
      rows.arrive(rowsOf(3, 5));
      for (const step of all) {
        if (step === "pause") rows.pause();
        else if (step === "resume") rows.resume();
        else if (step === "read") rows.need(0, rows.length.peek());
        else if (typeof step === "number") {
          const from = service.events.length;
          service.events.push(...rowsOf(from, from + step));
          rows.arrive(rowsOf(from, from + step));
        }
      }
      rows.resume();
      rows.pause();
      const expected = service.events.map(({ id }) => id);
      t.deepEqual(await allIdsOf(rows), order === "asc" ? expected : expected.toReversed());
    }),
    { numRuns: 40 },
  );
});

test("skipped events are inserted between their neighbours", (t) => {
  const rows = liveRows(new ReferenceService([]));
  rows.arrive([rowOf(0)]);
  const gap = { after: rowOf(0).id, before: rowOf(4).id, count: 3 };
  rows.skip(gap);
  rows.arrive([rowOf(4)]);
  t.deepEqual(rows.skipped.peek(), [gap]);
  rows.putBack(gap, rowsOf(1, 4));
  t.deepEqual(
    idsOf(rows),
    rowsOf(0, 5)
      .map(({ id }) => id)
      .toReversed(),
  );
  t.deepEqual(rows.skipped.peek(), []);
});

test("a gap is removed with the rows around it", (t) => {
  const rows = liveRows(new ReferenceService([]));
  rows.arrive([rowOf(0)]);
  rows.skip({ after: rowOf(0).id, before: rowOf(4).id, count: 3 });
  rows.arrive(rowsOf(4, 30));
  t.deepEqual(rows.skipped.peek(), []);
});
