import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterUs } from "./guard.ts";
import { stopProcessesOf } from "./processes-of.ts";

const PREFIX = "loggia-engines-";

/** A folder for engines that live no longer than this process; its name tells whose it is. */
export function temporaryEngineFolder(): string {
  return mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
}

/** Ends what runs in `folder`, and the folder with it, once this process or thread is gone without having done so. */
export function guardEngineFolder(folder: string): Disposable {
  return afterUs(process.execPath, [fileURLToPath(new URL("./remove.ts", import.meta.url)), folder]);
}

/** Stops the engines of processes that died before they could, and whose guards died too. */
export async function sweepOrphanedEngines(): Promise<void> {
  const folders = readdirSync(tmpdir()).filter((name) => name.startsWith(PREFIX));
  const orphaned = folders.filter((name) => !isAlive(Number.parseInt(name.slice(PREFIX.length), 10)));
  await Promise.all(orphaned.map((name) => removeEngineFolder(join(tmpdir(), name))));
}

/** Ends what runs in `folder`, and the folder with it. */
export async function removeEngineFolder(folder: string): Promise<void> {
  await stopProcessesOf(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // One of another user lives and may not be signalled: its engines are not ours to stop either.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
