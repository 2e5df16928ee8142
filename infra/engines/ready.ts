import { Kafka, logLevel } from "kafkajs";

/** Resolves when the broker answers for a whole cluster: registered, and no longer fenced off. */
export async function askKafka(broker: string): Promise<void> {
  const retry = { retries: 0 };
  const timeouts = { connectionTimeout: 2_000, requestTimeout: 5_000 };
  const admin = new Kafka({
    brokers: [broker],
    clientId: "readiness",
    logLevel: logLevel.NOTHING,
    retry,
    ...timeouts,
  }).admin();
  try {
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    if (brokers.length === 0) throw new Error("The broker has not joined its cluster yet.");
  } finally {
    await admin.disconnect();
  }
}

/** Resolves when the node has a master and has recovered its indices so far that all can be read and written. */
export async function askElasticsearch(url: string): Promise<void> {
  const answer = await fetch(`${url}/_cluster/health?wait_for_status=yellow&timeout=1s`, {
    signal: AbortSignal.timeout(5_000),
  });
  if (!answer.ok) throw new Error(`The health request was answered ${answer.status}.`);
  await answer.body?.cancel();
}
