import test from "ava";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { openKafkaBus } from "../../../src/bus/kafka/kafka.ts";
import { record } from "../../contract/bus.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { kafkaBrokers } from "../../support/engines.ts";
import { uniqueName } from "../../support/temporary.ts";

const declare = realEngines ? test : test.skip;

declare("an idle connection sets no timer in the past", async (t) => {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", note);
  t.teardown(() => process.off("warning", note));
  await using bus = await openKafkaBus({
    brokers: kafkaBrokers(),
    log: pino({ level: "silent" }),
    namespace: uniqueName("bus"),
  });
  await bus.append("events", [record("key", "x")]);
  await bus.lag("events", "g");
  // A timer in the past would fire every millisecond.
  await sleep(50);
  t.deepEqual(warnings, []);
});
