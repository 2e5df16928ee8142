import { join } from "node:path";
import type { EngineName } from "./engine.ts";
import type { Detached } from "./processes.ts";
import { isRunning, stop } from "./processes.ts";
import { readState } from "./state.ts";

/** Returns the part of an engine's command line that identifies it. */
export function markOf(folder: string, name: EngineName): string {
  return `-Dloggia.engine=${join(folder, name)}`;
}

/**
 * Returns the running processes in the state of `folder`. A pid that was reused by another program
 * does not count.
 */
export function processesOf(folder: string): Partial<Record<EngineName, Detached>> {
  const state = readState(folder);
  const running: Partial<Record<EngineName, Detached>> = {};
  for (const name of ["kafka", "elasticsearch"] as const) {
    const pid = state?.[name]?.pid;
    if (!pid) continue;
    const detached = { pid, mark: markOf(folder, name) };
    if (isRunning(detached)) running[name] = detached;
  }
  return running;
}

/** Stops the engines of `folder`, whichever process started them. */
export async function stopProcessesOf(folder: string): Promise<void> {
  await Promise.all(Object.values(processesOf(folder)).map((detached) => stop(detached)));
}
