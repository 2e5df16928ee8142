/**
 * Writes the same bytes repeatedly to plain connections, as fast as they are accepted. It is a
 * separate process that `stream-load.ts` controls.
 */
import { once } from "node:events";
import { connect } from "node:net";

import type { StreamJob, StreamOutcome } from "./stream-load.ts";

async function stream({ port, payload, connections, duration_ms }: StreamJob): Promise<StreamOutcome> {
  const bytes = Buffer.from(payload);
  const end_ms = performance.now() + duration_ms;
  let written = 0;
  const write = async (): Promise<void> => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    await once(socket, "connect");
    while (performance.now() < end_ms) {
      written += 1;
      if (!socket.write(bytes)) await once(socket, "drain");
    }
    socket.end();
    socket.resume();
    await once(socket, "close");
  };
  await Promise.all(Array.from({ length: connections }, write));
  return { written };
}

process.on("message", (job: StreamJob) => {
  stream(job).then(
    (outcome) => process.send!(outcome),
    (error: unknown) => {
      console.error("the streamer failed:", error);
      process.exit(1);
    },
  );
});
process.on("disconnect", () => process.exit(0));
