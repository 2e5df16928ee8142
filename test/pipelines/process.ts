/**
 * A pipeline on the embedded engines of a folder, as a process that a test can kill: writes a line
 * for each batch that is acknowledged.
 *
 *     node process.ts <folder>
 */
import { writeSync } from "node:fs";
import { startPipeline } from "../../pipelines/runner.ts";
import { openEmbedded, overBus, SILENT } from "./house.ts";

const house = await openEmbedded(process.argv[2]!);
const bus = overBus(house.bus, {
  subscribe: (options, handler) =>
    house.bus.subscribe(options, async (batch) => {
      // Written at once: by the time that somebody kills this process for it, the next batch is under way.
      await handler({ ...batch, ack: () => batch.ack().finally(() => writeSync(1, "acknowledged\n")) });
    }),
});
await (
  await startPipeline({ ...house, bus, log: SILENT, maxEvents: 100 })
).done;
