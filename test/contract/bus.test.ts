import { join } from "node:path";
import { pino } from "pino";
import { openKafkaBus } from "../../src/bus/kafka.ts";
import { openSqliteBus } from "../../src/bus/sqlite.ts";
import { kafkaBrokers, realEngines } from "../support/engines.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";
import { busContract } from "./bus.ts";

const log = pino({ level: "silent" });

busContract("SQLite", (t) => {
  const file = join(temporaryFolder(t), "bus.sqlite");
  return { open: () => openSqliteBus({ file, log }) };
});

if (realEngines) {
  busContract("Kafka", () => {
    const namespace = uniqueName("bus");
    return { open: () => openKafkaBus({ brokers: kafkaBrokers(), namespace, partitions: 3, log }) };
  });
}
