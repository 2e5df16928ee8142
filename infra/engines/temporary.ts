import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runAfterExit } from "./guard.ts";
import { stopProcessesOf } from "./processes-of.ts";

const PREFIX = "loggia-engines-";

/** Creates the path of a folder for engines of this process. Its name contains the pid. */
export function temporaryEngineFolder(): string {
  return mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
}

/** Stops the engines of `folder` and removes it, if this process or thread ends before that. */
export function guardEngineFolder(folder: string): Disposable {
  return runAfterExit(process.execPath, [fileURLToPath(new URL("./remove.ts", import.meta.url)), folder]);
}

/** Stops the engines of processes that died without stopping them, and whose guards died too. */
export async function removeOrphanedEngines(): Promise<void> {
  const folders = readdirSync(tmpdir()).filter((name) => name.startsWith(PREFIX));
  const orphaned = folders.filter((name) => !isAlive(Number.parseInt(name.slice(PREFIX.length), 10)));
  await Promise.all(orphaned.map((name) => removeEngineFolder(join(tmpdir(), name))));
}

/** Stops the engines of `folder` and removes it. */
export async function removeEngineFolder(folder: string): Promise<void> {
  await stopProcessesOf(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user is alive but may not be signalled. Its engines are left alone.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
