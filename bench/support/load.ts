import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** What the load generator is to send. */
export type Job = {
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  /** Whole requests, sent in turn. */
  readonly requests: readonly (string | Uint8Array)[];
  /**
   * Thirteen digits within each request, in whose place the moment of sending is written, in
   * milliseconds since the Unix epoch.
   */
  readonly stamp?: string;
  /** Requests a second at an even pace; null: each connection asks again as soon as it is answered. */
  readonly perSecond: number | null;
  readonly duration_ms: number;
  /**
   * Whether each request is sent once, by connections that are as many or fewer; then `duration_ms`
   * is the most that it may take.
   */
  readonly once?: boolean;
  /** The status that counts. */
  readonly expect: number;
};

export type Outcome = {
  /** Requests that got the expected status, those after the end included. */
  readonly answered: number;
  readonly perSecond: number;
  /** From the first request to the last answer. */
  readonly took_ms: number;
  /** Sorted. */
  readonly latencies_ms: Float64Array;
  /** Other statuses, with how often they came. */
  readonly others: readonly (readonly [status: number, count: number])[];
};

/** A load generator, in a process of its own. One job at a time. */
export type Generator = AsyncDisposable & {
  /** @throws Error where anything else than the expected status was answered, or a connection broke */
  run(job: Job): Promise<Outcome>;
  readonly pid: number;
};

export async function startGenerator(): Promise<Generator> {
  const child = fork(fileURLToPath(new URL("./generator.ts", import.meta.url)), { serialization: "advanced" });
  await once(child, "spawn");
  const exited = once(child, "exit").then(([code]) => {
    throw new Error(`the load generator has ended with ${String(code)}`);
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
          `expected ${job.expect} from port ${job.port} and got ${counts} (and ${outcome.answered} as expected)`,
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
