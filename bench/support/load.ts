import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A job of the load generator. */
export type Job = {
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  /** Complete requests, sent in turn. */
  readonly requests: readonly (string | Uint8Array)[];
  /**
   * Thirteen digits in each request that are replaced by the time of sending, in milliseconds since
   * the Unix epoch.
   */
  readonly stamp?: string;
  /** Requests per second at a fixed rate. Null: each connection sends again upon each response. */
  readonly perSecond: number | null;
  readonly duration_ms: number;
  /** Whether each request is sent only once. Then `duration_ms` is the maximum duration. */
  readonly once?: boolean;
  /** The expected status. */
  readonly expect: number;
};

export type Outcome = {
  /** Number of responses with the expected status, including those after the end. */
  readonly answered: number;
  readonly perSecond: number;
  /** Time from the first request to the last response. */
  readonly took_ms: number;
  /** Sorted. */
  readonly latencies_ms: Float64Array;
  /** Other statuses and their counts. */
  readonly others: readonly (readonly [status: number, count: number])[];
};

/** A load generator in a separate process. Runs one job at a time. */
export type Generator = AsyncDisposable & {
  /** Runs a job. @throws Error if a response has another status, or a connection fails */
  run(job: Job): Promise<Outcome>;
  readonly pid: number;
};

export async function startGenerator(): Promise<Generator> {
  const child = fork(fileURLToPath(new URL("./generator.ts", import.meta.url)), { serialization: "advanced" });
  await once(child, "spawn");
  const exited = once(child, "exit").then(([code]) => {
    throw new Error(`the load generator exited with code ${String(code)}`);
  });
  exited.catch(() => {});
  return {
    pid: child.pid!,
    async run(job) {
      const answer = once(child, "message");
      child.send(job);
      const [outcome] = (await Promise.race([answer, exited])) as [Outcome];
      if (outcome.others.length > 0) {
        const counts = outcome.others.map(([status, count]) => `${count} × ${status}`).join(", ");
        throw new Error(
          `expected status ${job.expect} from port ${job.port}, got ${counts} (and ${outcome.answered} as expected)`,
        );
      }
      return outcome;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      child.disconnect();
      await exited.catch(() => {});
    },
  };
}
