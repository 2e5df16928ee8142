import type { Client } from "@elastic/elasticsearch";

/** Reads the nodes' clocks. @returns the earliest time, in milliseconds; null if none reports it */
export async function readClusterTime(client: Client): Promise<number | null> {
  const { nodes } = await client.nodes.stats({ metric: "os", filter_path: "nodes.*.timestamp" });
  const times = Object.values(nodes).flatMap(({ timestamp }) => timestamp ?? []);
  return times.length === 0 ? null : Math.min(...times);
}
