import test, { type SerialFn, type TestFn } from "ava";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Engine } from "./engine.ts";
import { runScenario } from "./run.ts";
import { readScenarios } from "./scenario.ts";

/**
 * Declares a test for each scenario, on one service that runs on the engine.
 * @param declare declares one test. Default: concurrent with the others of the file
 */
export function declareScenarios(engine: Engine, declare: TestFn | SerialFn = test): void {
  const folder = mkdtempSync(join(tmpdir(), "loggia-test-"));
  const service = engine.start(folder);
  // A service that cannot start fails every scenario, each with this reason.
  service.catch(() => {});
  test.serial.after.always(`close ${engine.name}`, async () => {
    await (await service).close();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const { file, scenario } of readScenarios()) {
    declare(`${engine.name}: ${file}: ${scenario.scenario}`, async (t) => {
      await t.notThrowsAsync(runScenario(await service, scenario));
    });
  }
}
