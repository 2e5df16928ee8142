import { Kafka, logLevel } from "kafkajs";

/** Resolves if the broker is registered in its cluster and not fenced. */
export async function askKafka(broker: string): Promise<void> {
  suppressTimerWarning();
  const limits = { connectionTimeout: 2_000, requestTimeout: 5_000, retry: { retries: 0 } };
  const admin = new Kafka({
    brokers: [broker],
    clientId: "loggia-engines",
    logLevel: logLevel.NOTHING,
    ...limits,
  }).admin();
  try {
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    if (brokers.length === 0) throw new Error("The broker has not joined its cluster yet.");
  } finally {
    await admin.disconnect();
  }
}

/** Resolves if the node has a master, and all indices can be read and written. */
export async function askElasticsearch(url: string): Promise<void> {
  const signal = AbortSignal.timeout(5_000);
  const answer = await fetch(`${url}/_cluster/health?wait_for_status=yellow&timeout=1s`, { signal });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`The health request returned ${answer.status}.`);
}

let isSuppressed = false;

/**
 * Suppresses Node's warning about a timeout in the past, which the Kafka client sets at each
 * connection.
 */
function suppressTimerWarning(): void {
  if (isSuppressed) return;
  isSuppressed = true;
  const emit = process.emitWarning.bind(process) as (...args: unknown[]) => void;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (rest[0] !== "TimeoutNegativeWarning") emit(warning, ...rest);
  };
}
