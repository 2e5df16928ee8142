import { join } from "node:path";
import type { EngineName } from "./engine.ts";
import type { Detached } from "./processes.ts";
import { isRunning, stop } from "./processes.ts";
import { readState } from "./state.ts";

/** The part of an engine's command line by which it is known again. */
export function markOf(folder: string, name: EngineName): string {
  return `-Dloggia.engine=${join(folder, name)}`;
}

/**
 * The processes that the state of `folder` names and that run: a pid that has gone to another
 * program is none of ours.
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

/** Ends the engines of `folder`, whoever started them. */
export async function stopProcessesOf(folder: string): Promise<void> {
  await Promise.all(Object.values(processesOf(folder)).map((detached) => stop(detached)));
}
