import { defaultMemory, parseMemory, shareMemory } from "../settings/memory.ts";

/**
 * V8 flags of the service, however it is started. A smaller young generation saves memory. Without
 * pretenuring, no short-lived object is allocated in the old generation, where it would keep the
 * objects it references alive. Without parallel scavenging, a young collection does not wait for
 * helper threads that lack a core.
 */
const FLAGS = ["--max-semi-space-size=8", "--no-allocation-site-pretenuring", "--no-parallel-scavenge"];

/** Returns the arguments to restart with; null if the process has these flags already. */
export function nodeFlags(environment: NodeJS.ProcessEnv, given: readonly string[]): string[] | null {
  if (FLAGS.every((flag) => given.includes(flag))) return null;
  const isCluster = (environment["KAFKA_BROKERS"] ?? "") !== "";
  // An invalid value is reported later, when the settings are read.
  const memory = parseMemory(environment["LOGGIA_MEMORY"] ?? "") ?? defaultMemory();
  const heap = isCluster ? [] : [`--max-old-space-size=${shareMemory(memory).heapLimit_mb}`];
  return [...FLAGS, ...heap, ...given];
}
