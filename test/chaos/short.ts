import test from "ava";
import { realEngines } from "../support/engines.ts";
import { createEnginePool, type Fault, runFault } from "./chaos.ts";

const TIMEOUT_MS = 170_000;
const SOAK_S = 8;

/**
 * Declares the short forms of tests of faults, one after the other: those of one file share a Kafka and an Elasticsearch, which some of them kill.
 * @param known - names of tests that show a fault which is not mended yet
 */
export function declareShort(faults: readonly Fault[], known: readonly string[] = []): void {
  const engines = createEnginePool(() => {});
  test.after.always("the engines are stopped", () => engines[Symbol.asyncDispose]());
  for (const fault of faults) {
    const declare =
      fault.cluster && !realEngines ? test.skip : known.includes(fault.name) ? test.serial.failing : test.serial;
    declare(`${fault.name}: ${fault.passes}`, async (t) => {
      t.timeout(TIMEOUT_MS);
      const say = (line: string): void => t.log(line);
      await t.notThrowsAsync(async () => {
        t.log(await runFault(fault, { full: false, engines, soak_s: SOAK_S, say }));
      });
    });
  }
}
