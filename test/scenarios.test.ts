import test from "ava";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ENGINES } from "./scenarios/engines.ts";
import { runScenario } from "./scenarios/run.ts";
import { readScenarios } from "./scenarios/scenario.ts";

for (const engine of ENGINES) {
  const folder = mkdtempSync(join(tmpdir(), "loggia-test-"));
  const service = engine.start(folder);
  // A service that cannot start fails every scenario, each with this reason.
  service.catch(() => {});
  test.after.always(`close ${engine.name}`, async () => {
    await (await service).close();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const { file, scenario } of readScenarios()) {
    test(`${engine.name}: ${file}: ${scenario.scenario}`, async (t) => {
      await t.notThrowsAsync(runScenario(await service, scenario));
    });
  }
}
