import type { Logger } from "pino";
import { isDeepStrictEqual } from "node:util";

import { LoggiaError } from "../errors.ts";
import type { Job, JobRecord } from "./operations.ts";

export type JobOptions<Order, Progress> = {
  /** For messages and the log: "a replay". */
  readonly name: string;
  readonly log: Logger;
  /** Progress before the job has done anything. */
  readonly none: Progress;
  /** @param report receives the progress */
  readonly run: (order: Order, report: (progress: Progress) => void, signal: AbortSignal) => Promise<Progress>;
};

export type ClosableJob<Order, Progress> = Job<Order, Progress> & {
  /** Aborts a running job and waits for its end. */
  close(): Promise<void>;
};

export function createJob<Order, Progress>(options: JobOptions<Order, Progress>): ClosableJob<Order, Progress> {
  const { name, log, none, run } = options;
  const closing = new AbortController();
  let record: JobRecord<Order, Progress> | null = null;
  let running: Promise<void> = Promise.resolve();

  function begin(order: Order): JobRecord<Order, Progress> {
    let current: JobRecord<Order, Progress> = {
      state: "running",
      order,
      started: Date.now(),
      ended: null,
      progress: none,
      reason: null,
    };
    const change = (changes: Partial<JobRecord<Order, Progress>>): void => {
      current = { ...current, ...changes };
      record = current;
    };
    const work = async (): Promise<void> => {
      try {
        const progress = await run(order, (progress) => change({ progress }), closing.signal);
        change({ state: "done", progress, ended: Date.now() });
        log.info({ order, progress }, `${name} is done`);
      } catch (error) {
        change({ state: "failed", ended: Date.now(), reason: explain(error, name) });
        log.error({ err: error, order }, `${name} has failed`);
      }
    };
    record = current;
    log.info({ order }, `${name} begins`);
    running = work();
    return current;
  }

  return {
    start(order) {
      closing.signal.throwIfAborted();
      // Repeating the order of a running job, such as after a lost response, returns that job.
      if (record?.state === "running" && isDeepStrictEqual(record.order, order)) return record;
      if (record?.state === "running")
        throw new LoggiaError("conflict", `There is already ${name} running: wait until it ends`);
      return begin(order);
    },
    last: () => record,
    close: async () => {
      closing.abort(new LoggiaError("overloaded", "The service is stopping"));
      await running;
    },
  };
}

/** Only messages of LoggiaErrors are shown to callers; the log has all errors. */
function explain(error: unknown, name: string): string {
  return error instanceof LoggiaError ? error.message : `An unexpected error ended ${name}; see the service's log`;
}
