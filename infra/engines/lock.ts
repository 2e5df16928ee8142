import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "../../src/errors.ts";

/**
 * Runs `work` with exclusive access to `file` among all processes. The lock is SQLite's, so the
 * operating system releases it when its holder dies.
 * @throws StartError if another process held it for `timeout_ms`
 */
export async function withLock<T>(file: string, timeout_ms: number, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    const deadline = performance.now() + timeout_ms;
    while (!tryLock(database)) {
      if (performance.now() > deadline) {
        throw new StartError(
          `Another process has been holding ${file} for ${timeout_ms / 1000} s: end it and try again.`,
        );
      }
      await sleep(50);
    }
    return await work();
  } finally {
    database.close();
  }
}

const SQLITE_BUSY = 5;

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
