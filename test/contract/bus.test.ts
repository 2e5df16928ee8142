import type { ExecutionContext } from "ava";
import { join } from "node:path";
import { pino } from "pino";
import { openKafkaBus } from "../../src/bus/kafka/kafka.ts";
import { openSqliteBus } from "../../src/bus/sqlite/sqlite.ts";
import { realEngines } from "../support/engine-kinds.ts";
import { kafkaBrokers } from "../support/engines.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";
import { busReadingContract } from "./bus-reading.ts";
import { busContract } from "./bus.ts";
import type { BusStorage } from "./bus.ts";

const log = pino({ level: "silent" });

const sqlite = (t: ExecutionContext): BusStorage => {
  const file = join(temporaryFolder(t), "bus.sqlite");
  return { open: () => openSqliteBus({ file, log }) };
};
busContract("SQLite", sqlite);
busReadingContract("SQLite", sqlite);

if (realEngines) {
  const kafka = (): BusStorage => {
    const namespace = uniqueName("bus");
    return { open: () => openKafkaBus({ brokers: kafkaBrokers(), namespace, partitions: 3, log }) };
  };
  busContract("Kafka", kafka);
  busReadingContract("Kafka", kafka);
}
