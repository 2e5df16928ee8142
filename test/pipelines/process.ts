/**
 * Runs a pipeline on the embedded engines of a folder, in a process that a test can kill. It prints
 * a line for each acknowledged batch.
 *
 * node process.ts <folder>
 */
import { writeSync } from "node:fs";
import { startPipeline } from "../../pipelines/runner.ts";
import { openEmbedded, overBus, SILENT } from "./fixture.ts";

const ports = await openEmbedded(process.argv[2]!);
const bus = overBus(ports.bus, {
  subscribe: (options, handler) =>
    ports.bus.subscribe(options, async (batch) => {
      // Written synchronously: when a test kills this process on the line, the next batch is being
      // handled.
      await handler({ ...batch, ack: () => batch.ack().finally(() => writeSync(1, "acknowledged\n")) });
    }),
});
await (
  await startPipeline({ ...ports, bus, log: SILENT, maxEvents: 100 })
).done;
