import { DuckDBInstance } from "@duckdb/node-api";
import type { ExecutionContext } from "ava";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pino } from "pino";

import { killAfterExit } from "../../../infra/engines/guard.ts";
import { openDuckdbStore } from "../../../src/store/duckdb/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const CHILD = resolve(import.meta.dirname, "./child.ts");

export function open(file: string): Promise<Store> {
  return openDuckdbStore({ file, log: pino({ level: "silent" }), memoryLimit_mb: 256, threads: 2 });
}

export function newFile(t: ExecutionContext): string {
  return join(temporaryFolder(t), "events.duckdb");
}

/**
 * Starts a process that writes to the store until it is killed. Its output is read line by line.
 */
export function startChild(
  t: ExecutionContext,
  file: string,
  log: string,
  limit_blocks?: number,
): { child: ChildProcess; lines: AsyncIterator<string> } {
  // `ulimit -f` counts blocks of 512 bytes and simulates a full disk.
  const limit = limit_blocks === undefined ? "" : `trap '' XFSZ; ulimit -f ${limit_blocks}; `;
  const child = spawn("sh", ["-c", `${limit}exec "$0" "$@"`, process.execPath, CHILD, file, log], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  killAfterExit(child);
  t.teardown(() => child.kill("SIGKILL"));
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

export async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((done) => child.once("exit", done));
  child.kill("SIGKILL");
  await gone;
}

/** Runs a statement in a file that no store has open. */
export async function runIn(file: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}
