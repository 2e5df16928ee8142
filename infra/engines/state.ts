import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ElasticsearchRelease } from "./releases.ts";
import type { Way } from "./settings.ts";

/** Engines of a folder, as in its `state.json`. A process may have died since: see `isRunning`. */
export type State = {
  readonly way: Way;
  readonly kafka?: { readonly brokers: readonly string[]; readonly pid: number | null; readonly ready: boolean };
  readonly elasticsearch?: {
    readonly url: string;
    /** Absent in the state of an earlier version of this file: the default. */
    readonly release?: ElasticsearchRelease;
    readonly pid: number | null;
    readonly ready: boolean;
  };
};

const FILE = "state.json";

/**
 * Reads the state of `folder`; null if nothing was started, or the file is truncated or of another
 * format.
 */
export function readState(folder: string): State | null {
  try {
    const state = JSON.parse(readFileSync(join(folder, FILE), "utf8")) as State;
    return state.way === "containers" || state.way === "processes" ? state : null;
  } catch {
    return null;
  }
}

/** Merges `changes` into the state. The write is atomic. */
export function updateState(folder: string, changes: State): void {
  mkdirSync(folder, { recursive: true });
  const unfinished = join(folder, `${FILE}.${process.pid}`);
  writeFileSync(unfinished, `${JSON.stringify({ ...readState(folder), ...changes }, null, 2)}\n`);
  renameSync(unfinished, join(folder, FILE));
}

export function removeState(folder: string): void {
  rmSync(join(folder, FILE), { force: true });
}
