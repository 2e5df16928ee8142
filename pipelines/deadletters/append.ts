import type { Bus, NewRecord } from "../../src/bus/bus.ts";
import { chunk } from "../chunk.ts";
import { retryForever } from "../retry.ts";
import type { RetryPolicy } from "../retry.ts";
import { encodeLetters } from "./codec.ts";
import type { Failure, StageName } from "./codec.ts";

/** Bounds of one append. */
const APPEND_MAX_RECORDS = 1_000;
const APPEND_MAX_BYTES = 1024 * 1024;

/**
 * Appends what failed to the `dead-letters` topic. Resolves once all of it is durable; a bus that
 * does not take it is asked again and again, because a letter that is given up would be an event
 * that is lost.
 * @throws what `retryPolicy` fired with
 */
export async function deadLetter(
  bus: Bus,
  failures: readonly Failure[],
  stage: StageName,
  retryPolicy: RetryPolicy,
): Promise<void> {
  if (failures.length === 0) return;
  const letters = encodeLetters(failures, stage, Date.now());
  for (const records of chunk(letters, { max: APPEND_MAX_RECORDS, maxBytes: APPEND_MAX_BYTES, sizeOf: size_bytes })) {
    await retryForever("append dead letters", () => bus.append("dead-letters", records), retryPolicy);
  }
}

function size_bytes(letter: NewRecord): number {
  return letter.value.length;
}
