import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Way } from "./settings.ts";

/** What runs in a folder, as `state.json` there tells it. A process may have died since: see `isRunning`. */
export type State = {
  readonly way: Way;
  readonly kafka?: { readonly brokers: readonly string[]; readonly pid: number | null; readonly ready: boolean };
  readonly elasticsearch?: { readonly url: string; readonly pid: number | null; readonly ready: boolean };
};

const FILE = "state.json";

/**
 * The state of `folder`; null where nothing was started, or where the file is not what we write
 * (cut off, of another make).
 */
export function readState(folder: string): State | null {
  try {
    const state = JSON.parse(readFileSync(join(folder, FILE), "utf8")) as State;
    return state.way === "containers" || state.way === "processes" ? state : null;
  } catch {
    return null;
  }
}

/** Replaces what `changes` names; a reader sees the old state or the new one, never a part. */
export function updateState(folder: string, changes: State): void {
  mkdirSync(folder, { recursive: true });
  const unfinished = join(folder, `${FILE}.${process.pid}`);
  writeFileSync(unfinished, `${JSON.stringify({ ...readState(folder), ...changes }, null, 2)}\n`);
  renameSync(unfinished, join(folder, FILE));
}

export function removeState(folder: string): void {
  rmSync(join(folder, FILE), { force: true });
}
