import { collectDefaultMetrics, Registry } from "@prometheus-io/client";

let registry: Registry | null = null;

/**
 * Returns the registry of Node's default metrics: memory, CPU, descriptors, garbage collection and
 * event loop lag, under their usual names. Collection begins at the first call, once per process,
 * because it cannot be stopped again.
 */
export function processRegistry(): Registry {
  if (registry === null) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
  }
  return registry;
}
