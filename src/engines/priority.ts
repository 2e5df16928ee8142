import { readdirSync, readFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import type { Logger } from "pino";

/**
 * System names of helper threads. libuv's pool runs DuckDB (whose own threads inherit the name),
 * compression, password hashing and file access. V8's workers compile code and collect garbage.
 */
const HELPERS: ReadonlySet<string> = new Set(["libuv-worker", "node-V8Worker"]);
/** Nice value added to helper threads; it gives them a tenth of the weight. */
const STEP = constants.priority.PRIORITY_BELOW_NORMAL;

/**
 * Lowers the priority of helper threads, so that the threads that accept and commit posts are
 * scheduled first. A DuckDB checkpoint, which follows a burst of writes, keeps two threads busy for
 * up to half a second; on two cores it would delay posts.
 *
 * Only Linux has a priority for each thread (setpriority(2), "C library/kernel differences"); on
 * other systems this does nothing. Never throws: at normal priority some posts just take longer.
 */
export function lowerHelperPriority(log: Logger): void {
  if (process.platform !== "linux") return;
  const results = threads().map(lowerPriority);
  const done = results.filter((result) => result === "done").length;
  const fault = results.find((result) => result !== "done" && result !== "none");
  if (done > 0 && fault === undefined) log.debug({ threads: done }, "lowered the priority of helper threads");
  else
    log.info({ threads: done, fault }, "the priority of helper threads could not be lowered; posts may wait for them");
}

/** Returns the system's ids of this process's threads. */
function threads(): number[] {
  try {
    return readdirSync(`/proc/${process.pid}/task`).map(Number);
  } catch {
    return [];
  }
}

/**
 * Lowers the priority of a helper thread.
 * @returns "done"; "none" if it is no helper or has ended; otherwise the system's error code
 */
function lowerPriority(thread: number): string {
  try {
    const name = readFileSync(`/proc/${process.pid}/task/${thread}/comm`, "utf8").trim();
    if (!HELPERS.has(name)) return "none";
    setPriority(thread, Math.min(getPriority(process.pid) + STEP, constants.priority.PRIORITY_LOW));
    return "done";
  } catch (error) {
    const { code, info } = error as NodeJS.ErrnoException & { readonly info?: { readonly code: string } };
    const fault = info?.code ?? code ?? String(error);
    return fault === "ENOENT" || fault === "ESRCH" ? "none" : fault;
  }
}
