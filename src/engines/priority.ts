import { readdirSync, readFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import type { Logger } from "pino";

/**
 * Threads by the names that the system has for them: those of libuv's pool, on which DuckDB works (its own are made by one of them, and have its name) and Node compresses
 * answers, checks passwords and reads files; and those on which V8 compiles, and marks what is garbage.
 */
const HELPERS: ReadonlySet<string> = new Set(["libuv-worker", "node-V8Worker"]);
/** As `nice` has it: a tenth of the weight. */
const STEP = constants.priority.PRIORITY_BELOW_NORMAL;

/**
 * Has helping threads stand back where others want the processor: those that take posts and commit them come first. When DuckDB folds its log of changes into its file, which
 * it does a second after a burst and amid a longer one, two of its threads are busy for up to half a second; on two cores, posts and their commits took turns with them.
 *
 * Only Linux has a priority for each thread (setpriority(2), "C library/kernel differences"). Elsewhere nothing is done.
 */
export function letPostsFirst(log: Logger): void {
  if (process.platform !== "linux") return;
  try {
    const priority = Math.min(getPriority(process.pid) + STEP, constants.priority.PRIORITY_LOW);
    for (const thread of helpers()) setPriority(thread, priority);
  } catch (error) {
    log.warn({ err: error }, "the threads of the store keep their priority: posts may have to wait for them");
  }
}

/** Their ids, as the system has them. */
function helpers(): number[] {
  const folder = `/proc/${process.pid}/task`;
  return readdirSync(folder)
    .filter((thread) => HELPERS.has(readFileSync(`${folder}/${thread}/comm`, "utf8").trim()))
    .map(Number);
}
