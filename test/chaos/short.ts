import test from "ava";
import { realEngines } from "../support/engines.ts";
import { createEnginePool, type Fault, runFault } from "./chaos.ts";

const TIMEOUT_MS = 170_000;
const SOAK_S = 8;

/** Declares the short forms of tests of faults, one after the other: those of one file share a Kafka and an Elasticsearch, which some of them kill. */
export function declareShort(faults: readonly Fault[]): void {
  const engines = createEnginePool(() => {});
  test.after.always("the engines are stopped", () => engines[Symbol.asyncDispose]());
  for (const fault of faults) {
    const declare = fault.cluster && !realEngines ? test.skip : test.serial;
    declare(`${fault.name}: ${fault.passes}`, async (t) => {
      t.timeout(TIMEOUT_MS);
      const say = (line: string): void => t.log(line);
      await t.notThrowsAsync(async () => {
        t.log(await runFault(fault, { full: false, engines, soak_s: SOAK_S, say }));
      });
    });
  }
}
