import { pino } from "pino";

import { Scheduler } from "../../../../src/scheduling/scheduler.ts";
import { Database } from "../../../../src/store/duckdb/database/database.ts";

type Options = Parameters<typeof Database.open>[0];

/** Opens a database with one thread, whose reads may take ten minutes. */
export function openDatabase(given: Pick<Options, "file" | "memoryLimit_mb"> & Partial<Options>): Promise<Database> {
  const log = pino({ level: "silent" });
  return Database.open({ scheduler: new Scheduler(), log, threads: 1, readTimeout_ms: 600_000, ...given });
}
