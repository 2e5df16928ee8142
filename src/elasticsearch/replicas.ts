import type { estypes } from "@elastic/elasticsearch";

/** Returns the settings of an index with this many replicas. Default: one on a second node. */
export function replicaSettings(replicas: number | undefined): estypes.IndicesIndexSettings {
  return replicas === undefined ? { auto_expand_replicas: "0-1" } : { number_of_replicas: replicas };
}
