import test from "ava";
import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { StartError } from "../../src/errors.ts";
import { post } from "../support/service.ts";
import { until } from "../support/until.ts";
import { READY, serviceWithHistory, loggia, postAndDrain, readiness, heldBy, send, total } from "./fixture.ts";

/** Page size of SQLite. */
const PAGE_BYTES = 4_096;
/** Block size of DuckDB; the headers of a file take three. */
const BLOCK_BYTES = 4_096;

test("embedded: a bus with a damaged file is not ready once the damage is read, until an operator accepts it", async (t) => {
  t.timeout(600_000);
  const { folder, start } = await serviceWithHistory(t);
  const before = await start();
  // Compressible data would make the file too small.
  const data = () => randomBytes(3_750).toString("base64");
  for (let i = 0; i < 40; i++) t.is((await post(before, { text: `event ${i}`, data: data() })).status, 201);
  await postAndDrain(before, ["last"]);
  await before.close();
  // Pages of records, far from those of the schema.
  const file = openSync(join(folder, "bus.sqlite"), "r+");
  const size_bytes = fstatSync(file).size;
  const damaged = Buffer.alloc(Math.floor(size_bytes / 4 / PAGE_BYTES) * PAGE_BYTES, 0xff);
  writeSync(file, damaged, 0, damaged.length, Math.floor(size_bytes / 2 / PAGE_BYTES) * PAGE_BYTES);
  closeSync(file);
  const service = await start();
  // Reads every record of the bus.
  await send(service, "/manage/1/replay", { from: "start", into: "old" });
  await until(async () => isDeepStrictEqual(await readiness(service), heldBy("bus")), {
    what: "the damage to be reported",
  });
  await loggia(service, "holds", "accept", "bus");
  t.deepEqual(await readiness(service), READY);
  t.is(await total(service), 44, "the store holds all of it");
});

test("a store with a damaged file does not start, and says what to do in one line", async (t) => {
  t.timeout(600_000);
  const { folder, start } = await serviceWithHistory(t);
  const file = openSync(join(folder, "events.duckdb"), "r+");
  const size_bytes = fstatSync(file).size;
  const zeros = Buffer.alloc(size_bytes - 3 * BLOCK_BYTES);
  writeSync(file, zeros, 0, zeros.length, 3 * BLOCK_BYTES);
  closeSync(file);
  const error = await t.throwsAsync(start());
  t.true(error instanceof StartError);
  t.regex(error.message, /^The store .*events\.duckdb is damaged .*; restore a backup, or move the file away/);
});
