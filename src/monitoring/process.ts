import { collectDefaultMetrics, Registry } from "@prometheus-io/client";

let registry: Registry | null = null;

/**
 * Memory, processor, descriptors, collections of garbage and lags of the event loop, under the
 * names that dashboards of Node know. They are watched from the first time that somebody asks, once
 * for the process: what watches them cannot be taken away again.
 */
export function processRegistry(): Registry {
  if (registry === null) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
  }
  return registry;
}
