import { setTimeout as sleep } from "node:timers/promises";

import { CommandError } from "./request.ts";
import { printable } from "./terminal.ts";

/** A job of the service, as returned by the API. */
export type WaitedJob = { readonly state: string; readonly reason: string | null };

/** Exit code of shells for a command ended by Ctrl-C. */
const INTERRUPTED = 130;
const FIRST_POLL_MS = 50;
const LAST_POLL_MS = 1000;
/** Interval of progress lines without a terminal, in milliseconds. */
const REPORT_MS = 10_000;

/**
 * Shows the progress of a job until it ends. Stopping the command leaves the job running.
 * @throws CommandError if the job failed
 */
export async function untilEnded<T extends WaitedJob>(
  started: T,
  read: () => Promise<T>,
  show: (job: T) => string,
  stderr: NodeJS.WriteStream,
): Promise<T> {
  let job = started;
  const leave = (): void => {
    stderr.write("\nThe service continues the job; run the same command again to see its progress\n");
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", leave);
  let reported_ms = performance.now();
  for (let wait_ms = FIRST_POLL_MS; isUnderWay(job); wait_ms = Math.min(2 * wait_ms, LAST_POLL_MS)) {
    await sleep(wait_ms);
    job = await read();
    if (!isUnderWay(job)) break;
    if (stderr.isTTY) {
      stderr.write(`\r\u001b[K${printable(show(job))}`);
    } else if (performance.now() - reported_ms >= REPORT_MS) {
      reported_ms = performance.now();
      stderr.write(`loggia: ${printable(show(job))}\n`);
    }
  }
  process.off("SIGINT", leave);
  if (stderr.isTTY) stderr.write("\r\u001b[K");
  if (job.state === "failed") throw new CommandError(printable(job.reason ?? "It failed"));
  return job;
}

function isUnderWay({ state }: WaitedJob): boolean {
  return state === "running" || state === "waiting";
}
