import test from "ava";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";

import { openDuckdbStore } from "../../../../src/store/duckdb/store.ts";
import type { Store } from "../../../../src/store/store.ts";
import { event, listPlan, MORNING, newLog } from "../../../contract/store-fixture.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { writeEvents } from "../../../support/write-events.ts";

const NOTHING = { before: new Map(), markersBefore: null };

/** Returns a text so long that DuckDB stores it uncompressed and it can be found in a file. */
function secret(): string {
  return randomBytes(30_000).toString("base64url");
}

function isIn(file: string, text: string): boolean {
  return ["", ".wal"].some((ending) => existsSync(file + ending) && readFileSync(file + ending).includes(text));
}

/** Forces a checkpoint, which is the first step of a copy. */
async function checkpoint(store: Store & { copyTo(file: string): Promise<string[]> }, folder: string): Promise<void> {
  await store.copyTo(join(folder, `copy-${randomBytes(4).toString("hex")}.duckdb`));
}

/** One attribute with a column of its own, and one without. */
function attributesOf(text: string): string {
  return `{"one":"${text}","several":["${text}","b"]}`;
}

test("the texts of a deleted event are erased from the file by the sweep, others stay", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "events.duckdb");
  await using store = await openDuckdbStore({ file, log: pino({ level: "silent" }), threads: 1 });
  const log = newLog();
  const [deleted, byRecord, kept] = [secret(), secret(), secret()];
  const events = Array.from({ length: 20_000 }, (_, i) =>
    event(log, { text: `Order ${i} was paid`, attributes: attributesOf("a") }),
  );
  events[7_000] = event(log, { text: deleted, data: deleted, attributes: attributesOf(deleted) });
  events[8_000] = event(log, { text: byRecord, data: byRecord, attributes: attributesOf(byRecord) });
  events[9_000] = event(log, { text: kept, data: kept, attributes: attributesOf(kept) });
  await writeEvents(store, events);
  await checkpoint(store, folder);
  for (const text of [deleted, byRecord, kept]) t.true(isIn(file, text), "a test that could not fail");

  t.true(await store.deleteEvent(log, events[7_000].id));
  await store.writeDeletions([{ log, event: events[8_000].id, alertOf: null }]);
  await checkpoint(store, folder);
  await store.deleteExpired(NOTHING);
  for (const text of [deleted, byRecord]) t.false(isIn(file, text));
  t.true(isIn(file, kept));
  t.is((await store.list(listPlan(log))).total, 19_998);
  t.is((await store.find({ kind: "events" }, log, events[9_000].id))?.text, kept);
});

test("the texts of expired events are erased, among kept events of their time", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "events.duckdb");
  await using store = await openDuckdbStore({ file, log: pino({ level: "silent" }), threads: 1 });
  const [log, other] = [newLog(), newLog()];
  const [expired, kept] = [secret(), secret()];
  const events = Array.from({ length: 20_000 }, (_, i) =>
    event(i % 2 ? log : other, { text: `Order ${i} was paid`, attributes: attributesOf("a") }),
  );
  events[7_000] = event(log, { text: expired, data: expired, attributes: attributesOf(expired) });
  events[9_000] = event(other, { text: kept, data: kept, attributes: attributesOf(kept) });
  await writeEvents(store, events);
  await checkpoint(store, folder);
  for (const text of [expired, kept]) t.true(isIn(file, text), "a test that could not fail");
  await store.deleteExpired({ before: new Map([[log, MORNING + 1]]), markersBefore: null });
  t.false(isIn(file, expired));
  t.true(isIn(file, kept));
  t.is((await store.list(listPlan(other))).total, 9_999);
});
