import test from "ava";
import fc from "fast-check";

import { PagedRows } from "../../../../src/web/parts/rows/paged-rows.ts";
import { listQuestion } from "../../../../src/web/parts/rows/question.ts";
import type { TimeOrder } from "../../../../src/web/parts/rows/question.ts";
import { until } from "../../../support/until.ts";
import { ReferenceService } from "../../support/service.ts";
import { idOf, rowOf, rowsOf } from "../../support/rows.ts";

const SOON = (what: string) => ({ what, interval_ms: 1 });
const RANGE = { from: 0, to: 9_000_000_000_000 };

type Options = { readonly query?: string; readonly order?: TimeOrder; readonly room?: number };

function paged(service: ReferenceService, options: Options = {}) {
  const { query = "GET events", order = "desc", room = 1e9 } = options;
  const question = listQuestion(query, RANGE, order);
  return new PagedRows({ question, read: service.read, first: 3, page: 7, room });
}

async function readAll(rows: PagedRows): Promise<string[]> {
  await until(() => {
    rows.need(rows.length.peek() - 1, rows.length.peek());
    return rows.isComplete.peek();
  }, SOON("all pages"));
  return Array.from({ length: rows.length.peek() }, (_, index) => rows.idAt(index)!);
}

test("pages contain every event once and in order, however many share a moment", async (t) => {
  const moments = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(moments, fc.constantFrom<TimeOrder>("asc", "desc"), async (created, order) => {
      const events = created.map((moment, i) => rowOf(i, { id: idOf(i), created: 1_000 + moment }));
      const found = await readAll(paged(new ReferenceService(events), { order }));
      const sorted = events.toSorted((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1)).map(({ id }) => id);
      t.deepEqual(found, order === "asc" ? sorted : sorted.toReversed());
    }),
    { numRuns: 60 },
  );
});

test("a query's own order and limit hold across pages", async (t) => {
  const events = rowsOf(0, 40).map((row, i) => ({ ...row, value: (i * 7) % 40 }));
  const service = new ReferenceService(events);
  const found = await readAll(paged(service, { query: "GET events SORT value SKIP 2 TAKE 25" }));
  const sorted = events.toSorted((a, b) => a.value - b.value).map(({ id }) => id);
  t.deepEqual(found, sorted.slice(2, 27));
});

test("events that arrive or disappear between pages shift no others", async (t) => {
  const service = new ReferenceService(rowsOf(0, 30));
  const rows = paged(service);
  await rows.begin();
  service.events = service.events.filter(({ id }) => id !== rows.idAt(1)).concat(rowOf(99));
  const found = await readAll(rows);
  t.is(new Set(found).size, 30);
  t.deepEqual(
    found,
    rowsOf(0, 30)
      .map(({ id }) => id)
      .toReversed(),
  );
});

test("a page that could not be read is read on retry", async (t) => {
  const service = new ReferenceService(rowsOf(0, 30));
  const rows = paged(service);
  await rows.begin();
  const away = new Error("away");
  service.faults = [away];
  await until(() => {
    rows.need(0, rows.length.peek());
    return rows.fault.peek() !== null;
  }, SOON("the fault"));
  const asked = service.queries.length;
  rows.need(0, rows.length.peek());
  t.is(rows.fault.peek(), away);
  t.is(service.queries.length, asked, "nothing is asked until it is tried again");
  rows.retry();
  t.is((await readAll(rows)).length, 30);
});

test("rows far from the reader are dropped from memory, and read again in their places", async (t) => {
  const service = new ReferenceService(rowsOf(0, 60));
  const rows = paged(service, { room: 5_000 });
  const ids = await readAll(rows);
  const held = ids.filter((_, index) => rows.at(index) !== undefined);
  t.true(JSON.stringify(held.map((id) => rows.at(rows.indexOf(id)))).length < 7_000, `${held.length} rows are held`);
  const far = ids.findIndex((_, index) => rows.at(index) === undefined && rows.at(index + 1) === undefined);
  service.events = service.events.filter(({ id }) => id !== ids[far]);
  await until(() => {
    rows.need(far, far + 2);
    return rows.at(far + 1) !== undefined;
  }, SOON("the page"));
  t.is(rows.at(far + 1)!.id, ids[far + 1]!);
  t.is(rows.at(far)!.text, "This event is gone");
  t.is(rows.length.peek(), 60);
});

test("nothing is read after a run has ended", async (t) => {
  const service = new ReferenceService(rowsOf(0, 30));
  const rows = paged(service);
  await rows.begin();
  await until(() => !rows.isReading.peek(), SOON("the page"));
  const asked = service.queries.length;
  rows.close();
  rows.need(0, 30);
  t.is(service.queries.length, asked);
});
