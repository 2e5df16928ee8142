import test from "ava";

import { createMetrics } from "../../src/monitoring/metrics.ts";

test("write outcomes are counted by kind", async (t) => {
  const metrics = createMetrics();
  const done = { kind: "done" } as const;
  const retry = { kind: "retry", reason: "busy" } as const;
  const rejected = { kind: "rejected", reason: "odd" } as const;
  metrics.engines.write("events", [done, retry, done, rejected, done, retry], 0.1);
  metrics.engines.write("alerts", [rejected], 0.1);
  const lines = (await metrics.text()).split("\n");
  const counted = (what: string): (string | undefined)[] =>
    ["done", "retry", "rejected"].map(
      (kind) => lines.find((line) => line.startsWith(`loggia_store_${what}_total{outcome="${kind}"}`))?.split(" ")[1],
    );
  t.deepEqual(counted("events"), ["3", "2", "1"]);
  t.deepEqual(counted("alerts"), ["0", "0", "1"]);
});
