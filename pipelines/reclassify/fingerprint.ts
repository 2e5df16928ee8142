import { createHash } from "node:crypto";

import type { ClassFilter } from "../../src/catalog/catalog.ts";
import type { Scheduler } from "../../src/scheduling/scheduler.ts";

const FILTERS_A_TURN = 128;

/** Returns a fingerprint of a log's filters that is the same in every process. */
export async function fingerprintFilters(filters: readonly ClassFilter[], scheduler: Scheduler): Promise<string> {
  const hash = createHash("sha256");
  for (const [i, { key, tag, text, link, source, weight }] of filters.entries()) {
    if (i % FILTERS_A_TURN === FILTERS_A_TURN - 1) await scheduler.yieldToRequests();
    hash.update(`${JSON.stringify([key, tag, text, link, source, weight])}\n`);
  }
  return hash.digest("base64url");
}
