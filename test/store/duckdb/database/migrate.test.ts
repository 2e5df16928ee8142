import { DuckDBInstance } from "@duckdb/node-api";
import test from "ava";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";

import { killAfterExit } from "../../../../infra/engines/guard.ts";
import { openDuckdbStore } from "../../../../src/store/duckdb/store.ts";
import { event, listPlan, MORNING, newLog, row, write } from "../../../contract/store-fixture.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

const CHILD = resolve(import.meta.dirname, "../child.ts");
const KILLS = 12;
const EVENTS = 20_000;

/** Statements that bring a file back to version 6, which kept a hash for each text. */
const BACK_TO_6 = [
  "alter table events rename to hashless",
  `create table events as select created, id_hi, id_lo, log, text, link,
     to_base64(unhex(left(sha256(text), 32))) as hash, * exclude (created, id_hi, id_lo, log, text, link) from hashless`,
  "drop table hashless",
  "update meta set version = 6",
  "checkpoint",
];

test("a process that is killed during a migration loses nothing", async (t) => {
  const folder = temporaryFolder(t);
  const [old, file] = ["old", "file"].map((name) => join(folder, `${name}.duckdb`)) as [string, string];
  const [log, other] = [newLog(), newLog()];
  const options = { log: pino({ level: "silent" }), memoryLimit_mb: 128, threads: 1 };
  const events = Array.from({ length: EVENTS }, (_, i) =>
    event(log, { created: MORNING + i, text: `${i} `.repeat(20) }),
  );
  {
    await using store = await openDuckdbStore({ file: old, ...options });
    await write(t, store, events);
  }
  const instance = await DuckDBInstance.create(old);
  const connection = await instance.connect();
  for (const statement of BACK_TO_6) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
  /** Shortest time in which a process has migrated the file and written. */
  let best_ms = Infinity;
  let unfinished = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    copyFileSync(old, file);
    const start_ms = performance.now();
    const child = spawn(process.execPath, [CHILD, file, other], { stdio: ["ignore", "pipe", "inherit"] });
    killAfterExit(child);
    const ended = once(child, "exit");
    const said = once(child.stdout, "data").then(() => true);
    const early = best_ms === Infinity ? [] : [sleep(best_ms * (0.7 + (0.3 * kill) / KILLS), false)];
    if (await Promise.race([said, ...early])) best_ms = Math.min(best_ms, performance.now() - start_ms);
    else unfinished += 1;
    child.kill("SIGKILL");
    await ended;
    await using store = await openDuckdbStore({ file, ...options });
    const { rows, total } = await store.list(
      listPlan(log, { sort: [{ field: "created", direction: "asc" }], take: 50 }),
    );
    t.is(total, EVENTS);
    t.deepEqual(rows, events.slice(0, 50).map(row));
    const { total: written } = await store.list(listPlan(other, { take: 0 }));
    t.is(written % 500, 0, "a batch is there as a whole or not at all");
  }
  t.true(unfinished > 0, "no process was killed before it had written");
});
