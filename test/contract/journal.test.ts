import { pino } from "pino";

import { openKafkaBus } from "../../src/bus/kafka/kafka.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { kafkaBrokers } from "../support/engines.ts";
import { MemoryJournal } from "../support/memory-journal.ts";
import { uniqueName } from "../support/temporary.ts";
import { journalContract } from "./journal.ts";

const log = pino({ level: "silent" });

journalContract("memory", async () => {
  const journal = new MemoryJournal();
  return async () => journal;
});

if (realEngines) {
  journalContract("Kafka", async (t) => {
    const namespace = uniqueName("journal");
    return async () => {
      const bus = await openKafkaBus({ brokers: kafkaBrokers(), namespace, log });
      t.teardown(() => bus[Symbol.asyncDispose]());
      return bus.journal!("keys");
    };
  });
}
