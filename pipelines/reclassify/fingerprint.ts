import { createHash } from "node:crypto";

import type { ClassFilter } from "../../src/catalog/catalog.ts";
import { yieldToRequests } from "../../src/scheduling/cooperative.ts";

const FILTERS_A_TURN = 128;

/** Returns a fingerprint of a log's filters that is the same in every process. */
export async function fingerprintFilters(filters: readonly ClassFilter[]): Promise<string> {
  const hash = createHash("sha256");
  for (const [i, { key, tag, text, link, source, weight }] of filters.entries()) {
    if (i % FILTERS_A_TURN === FILTERS_A_TURN - 1) await yieldToRequests();
    hash.update(`${JSON.stringify([key, tag, text, link, source, weight])}\n`);
  }
  return hash.digest("base64url");
}
