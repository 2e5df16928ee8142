import type { Settings } from "../settings.ts";

const POST_MAX_WAITING_MB = 64;

/**
 * The memory limit of all API answers in flight, in MB. With embedded engines it is bounded by the
 * share of `LOGGIA_MEMORY` as well.
 */
export function responseMemory_mb({ engines, memory, rates }: Settings): number {
  return engines.kind === "embedded" ? Math.min(rates.answers_mb, memory.answers_mb) : rates.answers_mb;
}

/** The memory limit of posts that wait for the bus, in MB. */
export function queuedPostMemory_mb({ engines, memory }: Settings): number {
  return engines.kind === "embedded" ? Math.min(POST_MAX_WAITING_MB, memory.waiting_mb) : POST_MAX_WAITING_MB;
}
