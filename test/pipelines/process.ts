/**
 * Runs a pipeline on the embedded engines of a folder. It kills itself while it handles a batch,
 * because a test that stalls would kill it too late.
 *
 * node process.ts <folder> <number of batches to acknowledge before>
 */
import { startPipeline } from "../../pipelines/runner.ts";
import { openEmbedded, overBus, SILENT } from "./fixture.ts";
import { Scheduler } from "../../src/scheduling/scheduler.ts";

/** Ends within a batch, whose writes take longer. */
const KILL_AFTER_MS = 2;

const [folder = "", batches = ""] = process.argv.slice(2);
const ports = await openEmbedded(folder);
let acknowledged = 0;
const bus = overBus(ports.bus, {
  subscribe: (options, handler) =>
    ports.bus.subscribe(options, async (batch) => {
      if (acknowledged === Number(batches)) setTimeout(() => process.kill(process.pid, "SIGKILL"), KILL_AFTER_MS);
      await handler(batch);
      acknowledged += 1;
    }),
});
await (
  await startPipeline({ ...ports, bus, scheduler: new Scheduler(), log: SILENT, maxEvents: 100 })
).done;
