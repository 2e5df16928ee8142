import { pino } from "pino";

import { openDuckdbStore } from "../../../src/store/duckdb/store.ts";
import { event, MORNING } from "../../contract/store-fixture.ts";
import type { LogKey } from "../../../src/events/event.ts";
import { writeEvents } from "../../support/write-events.ts";

/**
 * Runs in a process of its own until it is killed: writes batches of 500 events of `log` to the
 * store `file`, and prints the outcome of each. Every event has an attribute `batch`, and one whose
 * name changes every ten batches.
 */
const [file = "", log = "", blockRows = "8192"] = process.argv.slice(2);

try {
  const store = await openDuckdbStore({
    file,
    log: pino({ level: "silent" }),
    memoryLimit_mb: 128,
    threads: 1,
    blockRows: Number(blockRows),
  });
  for (let batch = 0; ; batch++) {
    const events = Array.from({ length: 500 }, (_, i) =>
      event(log as LogKey, {
        created: MORNING + batch,
        text: `${batch} ${i} ${Math.random()}`.repeat(4),
        attributes: `{"batch":${batch},"tenth${Math.floor(batch / 10)}":"x"}`,
      }),
    );
    const outcomes = await writeEvents(store, events, { topic: "events", partition: 0, offset: batch });
    const [kind = "none", ...mixed] = new Set(outcomes.map((outcome) => outcome.kind));
    process.stdout.write(`${batch} ${mixed.length === 0 ? kind : "mixed"}\n`);
  }
} catch (error) {
  process.stdout.write(`failed ${String(error)}\n`);
}
