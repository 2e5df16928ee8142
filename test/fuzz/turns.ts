import { bestStep_ms } from "../turns/decode-steps.ts";
import { ENDPOINTS, worstBytes, worstJson } from "../turns/shapes.ts";
import type { WorstRequest } from "../turns/shapes.ts";
import { mutate } from "./random.ts";
import type { Random } from "./random.ts";
import { Fault } from "./target.ts";

/** Longest step of decoding, in milliseconds of processor time. */
const LIMIT_MS = 25;
const SIZES_BYTES = [2_000, 40_000, 300_000, 2_000_000] as const;

/**
 * Searches for bodies that hold the thread while they are decoded: the worst known ones, mutated,
 * joined, and sent to endpoints that expect others.
 */
export async function fuzzTurns(random: Random, deadline_ms: number): Promise<number> {
  let tries = 0;
  let before: WorstRequest | null = null;
  while (performance.now() < deadline_ms) {
    const size_bytes = random.oneOf(SIZES_BYTES);
    const isChosen = (): boolean => random.below(500) === 0;
    for (const requests of [worstBytes(size_bytes, isChosen), worstJson(size_bytes, isChosen)]) {
      for (const request of requests) {
        if (performance.now() >= deadline_ms) return tries;
        const joined =
          before !== null && random.percent(30) ? Buffer.concat([before.body, request.body]) : request.body;
        const body = random.percent(70) ? mutate(random, joined) : joined;
        const endpoint = random.percent(30) ? random.oneOf(ENDPOINTS) : request;
        assertSteps({ ...endpoint, name: request.name, body });
        before = request;
        tries += 1;
        await new Promise(setImmediate);
      }
    }
  }
  return tries;
}

function assertSteps(request: WorstRequest): void {
  const best_ms = bestStep_ms(request, LIMIT_MS);
  if (best_ms <= LIMIT_MS) return;
  const begin = JSON.stringify(request.body.toString("latin1", 0, 300));
  throw new Fault(
    `a step of ${best_ms} ms: ${request.name}, sent to ${request.path}, ${request.body.length} bytes: ${begin}`,
  );
}
