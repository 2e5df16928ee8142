import test from "ava";
import type { ExecutionContext } from "ava";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { environmentOf, get, post, startService } from "./service.ts";
import type { Service } from "./service.ts";

/**
 * Runs one embedded service for all tests of a file.
 * @param started called with the service once it runs
 */
export function shareService(started: (service: Service) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "loggia-test-"));
  let service: Service | null = null;
  test.before(async () => {
    service = await startService(environmentOf("embedded", folder));
    started(service);
  });
  test.after.always(async () => {
    await service?.close();
    rmSync(folder, { recursive: true, force: true });
  });
}

/** Asserts that both addresses still work after an attack. */
export async function assertWell(t: ExecutionContext, service: Service): Promise<void> {
  t.is((await post(service, { text: "still here" })).status, 201);
  t.is((await get(service, "/1/logs")).status, 200);
}
