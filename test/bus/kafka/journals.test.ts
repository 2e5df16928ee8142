import test from "ava";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";

import { openKafkaBus } from "../../../src/bus/kafka/kafka.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { kafkaBrokers } from "../../support/engines.ts";
import { uniqueName } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import { startProxy } from "../proxy.ts";

const log = pino({ level: "silent" });

for (const failure of ["cut", "stall", "blackHole"] as const) {
  (realEngines ? test : test.skip)(`a journal is read on after its connections: ${failure}`, async (t) => {
    t.timeout(120_000);
    const namespace = uniqueName("journal");
    const proxy = await startProxy(t, kafkaBrokers()[0]!);
    await using healthy = await openKafkaBus({ brokers: kafkaBrokers(), namespace, log });
    await using bus = await openKafkaBus({
      brokers: kafkaBrokers(),
      namespace,
      log,
      socketFactory: proxy.socketFactory,
    });
    const journal = bus.journal!("keys");
    const texts: string[] = [];
    const over = new AbortController();
    const follow = async (): Promise<void> => {
      for (let from = 0; !over.signal.aborted;) {
        try {
          for (const { offset, value } of await journal.read({ from, maxBytes: 1_000_000, wait_ms: 100 })) {
            texts.push(value.toString());
            from = offset + 1;
          }
        } catch {
          await sleep(50);
        }
      }
    };
    const following = follow();
    await healthy.journal!("keys").append([Buffer.from("before")]);
    await until(() => texts.length === 1, { what: "the first record" });
    proxy[failure]();
    await healthy.journal!("keys").append([Buffer.from("meanwhile")]);
    if (failure !== "blackHole") {
      await sleep(200);
      proxy.flow();
    }
    await healthy.journal!("keys").append([Buffer.from("after")]);
    await until(() => texts.length >= 3, { what: "the others", timeout_ms: 60_000 });
    t.deepEqual(texts, ["before", "meanwhile", "after"]);
    await journal.append([Buffer.from("its own")], { deadline_ms: 60_000 });
    await until(() => texts.length >= 4, { what: "its own record" });
    over.abort();
    await following;
  });
}
