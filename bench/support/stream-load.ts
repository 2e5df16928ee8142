import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type StreamJob = {
  readonly port: number;
  /** Complete frames. */
  readonly payload: Uint8Array;
  readonly connections: number;
  readonly duration_ms: number;
};

/** Number of times the payload was written. All connections are closed. */
export type StreamOutcome = { readonly written: number };

/** Writes to plain connections from a separate process. Runs one job at a time. */
export type Streamer = AsyncDisposable & { run(job: StreamJob): Promise<StreamOutcome> };

export async function startStreamer(): Promise<Streamer> {
  const child = fork(fileURLToPath(new URL("./streamer.ts", import.meta.url)), { serialization: "advanced" });
  await once(child, "spawn");
  const exited = once(child, "exit").then(([code]) => {
    throw new Error(`the streamer exited with code ${String(code)}`);
  });
  exited.catch(() => {});
  return {
    async run(job) {
      const answer = once(child, "message");
      child.send(job);
      const [outcome] = (await Promise.race([answer, exited])) as [StreamOutcome];
      return outcome;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      child.disconnect();
      await exited.catch(() => {});
    },
  };
}
