import test from "ava";
import type { ExecutionContext } from "ava";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { environmentOf, get, post, startService } from "./service.ts";
import type { Service } from "./service.ts";

/**
 * One embedded service for all tests of a file, from before the first until after the last. @param
 * started is handed it
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

/** After an attack both addresses do their work. */
export async function assertWell(t: ExecutionContext, service: Service): Promise<void> {
  t.is((await post(service, { text: "still here" })).status, 201);
  t.is((await get(service, "/1/logs")).status, 200);
}
