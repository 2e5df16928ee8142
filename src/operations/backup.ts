import { chmodSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import type { SqliteBus } from "../bus/sqlite/sqlite.ts";
import { LoggiaError } from "../errors.ts";
import type { DuckdbStore } from "../store/duckdb/store.ts";
import { BUS_FILE, flush, makeFolders, MANIFEST, sha256Of } from "./files.ts";
import type { Manifest } from "./files.ts";
import type { BackupProgress } from "./operations.ts";

export type BackupOptions = {
  /** Data folder with the files of `bus`, `store` and `documents`. */
  readonly folder: string;
  readonly bus: Pick<SqliteBus, "hold">;
  readonly store: Pick<DuckdbStore, "copyTo">;
  /** SQLite files that allow several connections. A missing one is skipped. */
  readonly documents: readonly string[];
  /** Absolute path of a folder that is missing or empty. */
  readonly to: string;
  readonly report?: (progress: BackupProgress) => void;
  readonly signal?: AbortSignal;
};

export const STORE_FILE = "events.duckdb";

/**
 * Copies the files of the embedded engines while they run. The store is copied before the bus, so
 * everything acknowledged before the backup began is in one of them, and the pipeline of a restored
 * service continues where its store ends.
 *
 * @throws LoggiaError `bad_parameter` if the folder cannot take a backup. After any failure nothing
 * of the backup remains in it
 */
export async function backup(options: BackupOptions): Promise<BackupProgress> {
  const { folder, bus, store, documents, to, report, signal } = options;
  prepareFolder(to);
  const files: Manifest["files"] = [];
  const begun = new Date().toISOString();
  const made = new Set<string>();

  async function add(file: string): Promise<void> {
    signal?.throwIfAborted();
    chmodSync(file, 0o600);
    await flush(file);
    files.push({ name: basename(file), size_bytes: statSync(file).size, sha256: await sha256Of(file) });
    report?.({ files: files.map(({ name, size_bytes }) => ({ name, size_bytes })) });
  }

  try {
    {
      using hold = bus.hold();
      for (const name of [STORE_FILE, `${STORE_FILE}.wal`, BUS_FILE]) made.add(join(to, name));
      for (const file of await store.copyTo(join(to, STORE_FILE))) await add(file);
      await hold.copyTo(join(to, BUS_FILE));
    }
    await add(join(to, BUS_FILE));
    for (const name of documents) {
      if (!existsSync(join(folder, name))) continue;
      made.add(join(to, name));
      copyDocuments(join(folder, name), join(to, name));
      await add(join(to, name));
    }
    signal?.throwIfAborted();
    made.add(join(to, MANIFEST));
    const manifest: Manifest = { version: 1, begun, files };
    writeFileSync(join(to, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
    await flush(to);
  } catch (error) {
    for (const file of made) rmSync(file, { force: true });
    throw explain(error, to);
  }
  return { files: files.map(({ name, size_bytes }) => ({ name, size_bytes })) };
}

function prepareFolder(to: string): void {
  if (!isAbsolute(to)) {
    throw new LoggiaError("bad_parameter", `${JSON.stringify(to)} is not an absolute path on the disk of the service`);
  }
  try {
    makeFolders(to);
    if (readdirSync(to).length === 0) return;
  } catch (error) {
    throw new LoggiaError("bad_parameter", `${to} can't be used for a backup: ${(error as Error).message}`, {
      cause: error,
    });
  }
  throw new LoggiaError("bad_parameter", `${to} is not empty: a backup needs an empty folder`);
}

/** Copies a catalog in one blocking step, which is fast as catalogs are small. */
function copyDocuments(from: string, to: string): void {
  const source = new DatabaseSync(from, { readOnly: true, timeout: 5_000 });
  try {
    source.prepare("VACUUM INTO ?").run(to);
  } finally {
    source.close();
  }
}

/**
 * Adds the cause to engine and disk errors. Backups are for service admins only, who chose the
 * folder, so they may see causes that engines hide from other callers. Other errors are internal.
 */
function explain(error: unknown, to: string): unknown {
  if (error instanceof LoggiaError) {
    if (!(error.cause instanceof Error)) return error;
    return new LoggiaError(error.code, `The backup to ${to} failed: ${error.cause.message}`, { cause: error });
  }
  const { code, errcode, message } = error as { code?: unknown; errcode?: unknown; message?: string };
  const isOfDisk = typeof errcode === "number" || (typeof code === "string" && /^E[A-Z]+$/.test(code));
  return isOfDisk
    ? new LoggiaError("store_unavailable", `The backup to ${to} failed: ${message}`, { cause: error })
    : error;
}
