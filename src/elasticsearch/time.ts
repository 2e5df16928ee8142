import type { Client } from "@elastic/elasticsearch";

/** The earliest time that a node's clock shows, in milliseconds; null where none tells it. */
export async function readTime(client: Client): Promise<number | null> {
  const { nodes } = await client.nodes.stats({ metric: "os", filter_path: "nodes.*.timestamp" });
  const times = Object.values(nodes).flatMap(({ timestamp }) => timestamp ?? []);
  return times.length === 0 ? null : Math.min(...times);
}
