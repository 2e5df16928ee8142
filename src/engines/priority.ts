import { readdirSync, readFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import type { Logger } from "pino";

/**
 * Threads by the names that the system has for them: those of libuv's pool, on which DuckDB works
 * (its own are made by one of them, and have its name) and Node compresses answers, checks
 * passwords and reads files; and those on which V8 compiles, and marks what is garbage.
 */
const HELPERS: ReadonlySet<string> = new Set(["libuv-worker", "node-V8Worker"]);
/** As `nice` has it: a tenth of the weight. */
const STEP = constants.priority.PRIORITY_BELOW_NORMAL;

/**
 * Has helping threads stand back where others want the processor: those that take posts and commit
 * them come first. When DuckDB folds its log of changes into its file, which it does a second after
 * a burst and amid a longer one, two of its threads are busy for up to half a second; on two cores,
 * posts and their commits took turns with them.
 *
 * Only Linux has a priority for each thread (setpriority(2), "C library/kernel differences").
 * Elsewhere nothing is done. Never throws: without it posts wait now and then, and no more.
 */
export function letPostsFirst(log: Logger): void {
  if (process.platform !== "linux") return;
  const results = threads().map(standBack);
  const done = results.filter((result) => result === "done").length;
  const fault = results.find((result) => result !== "done" && result !== "none");
  if (done > 0 && fault === undefined) log.debug({ threads: done }, "helping threads stand back");
  else log.info({ threads: done, fault }, "helping threads keep their priority: posts may have to wait for them");
}

/** The ids of this process's threads, as the system has them. */
function threads(): number[] {
  try {
    return readdirSync(`/proc/${process.pid}/task`).map(Number);
  } catch {
    return [];
  }
}

/** "none" where it is no helper, or has ended; else what the system had against it. */
function standBack(thread: number): string {
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
