import { readdirSync, readFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import type { Logger } from "pino";

/**
 * System names of helper threads: those of libuv's pool, on which DuckDB works (its own threads are
 * created by one of them and inherit its name) and Node compresses responses, hashes passwords and
 * reads files; and those on which V8 compiles and marks garbage.
 */
const HELPERS: ReadonlySet<string> = new Set(["libuv-worker", "node-V8Worker"]);
/** As a `nice` value; a tenth of the weight. */
const STEP = constants.priority.PRIORITY_BELOW_NORMAL;

/**
 * Lowers the priority of helper threads, so that the threads that take posts and commit them run
 * first. When DuckDB writes its log of changes to its file, a second after a burst and during a
 * longer one, two of its threads are busy for up to half a second; with two cores, posts and their
 * commits would share the processor with them.
 *
 * Only Linux has a priority for each thread (setpriority(2), "C library/kernel differences").
 * Elsewhere nothing is done. Never throws: without it, posts only wait now and then.
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

/** Returns "done", "none" if the thread is no helper or has ended, or else the system's error. */
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
