import type { Bus, NewRecord } from "../../src/bus/bus.ts";
import { chunk } from "../chunk.ts";
import { retryForever } from "../retry.ts";
import type { RetryPolicy } from "../retry.ts";
import { encodeLetters } from "./codec.ts";
import type { RecordFailure, StageName } from "./codec.ts";

/** Bounds of one append. */
const APPEND_MAX_RECORDS = 1_000;
const APPEND_MAX_BYTES = 1024 * 1024;

/**
 * Appends failures to the `dead-letters` topic. Resolves once all are durable. An append that fails
 * is retried without end, because an event would be lost with its dead letter.
 * @throws the reason of `retryPolicy.signal` or `retryPolicy.closing`
 */
export async function deadLetter(
  bus: Bus,
  failures: readonly RecordFailure[],
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
