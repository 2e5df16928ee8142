import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { connect as connectPlain, isIP } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import {
  Kafka,
  logLevel,
  type ISocketFactory,
  type KafkaConfig,
  type LogEntry,
  type RetryOptions,
  type SASLOptions,
} from "kafkajs";
import type { Logger } from "pino";

export type KafkaConnection = {
  /** `host:port` of at least one reachable broker. */
  readonly brokers: readonly string[];
  /** Certificate authorities in PEM, or the system's if null. false: no TLS. */
  readonly tls?: false | { readonly ca: string | null };
  readonly sasl?: {
    readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
    readonly username: string;
    readonly password: string;
  } | null;
  readonly clientId?: string;
  /** Creates connections. Tests replace it. */
  readonly socketFactory?: ISocketFactory;
  readonly log: Logger;
};

export type KafkaClient = {
  readonly kafka: Kafka;
  /** Drops every connection to a broker (`host:port`); its users fail at once and reconnect. */
  readonly dropConnections: (broker: string) => void;
  /** Drops all connections. Requests in flight fail at once; later ones reconnect. */
  readonly dropAllConnections: () => void;
};

const CONNECT_TIMEOUT_MS = 3000;
const AUTHENTICATION_TIMEOUT_MS = 5000;
export const REQUEST_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 15_000;

/**
 * Retries inside the client, where they multiply over several levels. So they are few, and callers
 * retry with a deadline of their own: a cluster that returns is then noticed within a second.
 */
export const CLIENT_RETRY: RetryOptions = { initialRetryTime: 100, maxRetryTime: 1000, retries: 2 };

/**
 * Creates a client for one use (producer, consumer or admin). It has connections of its own, so
 * that one use can drop them without disturbing another.
 *
 * kafkajs keeps a connection whose requests time out. If its packets are lost, it would not recover
 * until TCP gives up after a quarter of an hour, so users call `dropConnections` at
 * `REQUEST_TIMEOUT`.
 */
export function createKafkaClient(connection: KafkaConnection): KafkaClient {
  stopIdlePolling();
  const sockets = new Map<Socket, string>();
  const factory = connection.socketFactory ?? connectSocket;
  const config: KafkaConfig = {
    brokers: [...connection.brokers],
    clientId: connection.clientId ?? "loggia",
    connectionTimeout: CONNECT_TIMEOUT_MS,
    authenticationTimeout: AUTHENTICATION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retry: CLIENT_RETRY,
    logLevel: logLevel.INFO,
    logCreator: () => createLogWriter(connection.log),
    socketFactory: (options) => {
      const socket = factory(options);
      sockets.set(socket, `${options.host}:${options.port}`);
      socket.once("close", () => sockets.delete(socket));
      return socket;
    },
  };
  if (connection.tls) config.ssl = connection.tls.ca === null ? true : { ca: connection.tls.ca };
  if (connection.sasl) config.sasl = connection.sasl as SASLOptions;
  const drop = (broker: string | null) => {
    for (const [socket, to] of sockets) {
      if (broker === null || broker === to) socket.destroy(new Error("connection dropped because a request timed out"));
    }
  };
  return { kafka: new Kafka(config), dropConnections: drop, dropAllConnections: () => drop(null) };
}

/** A private class of kafkajs, the one below its consumers: brokers, their connections, metadata. */
export type KafkaCluster = {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  refreshMetadata(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>;
  findBroker(node: { readonly nodeId: string }): Promise<KafkaBroker>;
};

export type KafkaBroker = {
  fetch(request: {
    readonly maxWaitTime: number;
    readonly minBytes: number;
    readonly maxBytes: number;
    readonly isolationLevel: number;
    readonly topics: readonly {
      readonly topic: string;
      readonly partitions: readonly {
        readonly partition: number;
        readonly fetchOffset: number;
        readonly maxBytes: number;
      }[];
    }[];
  }): Promise<{ readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[] }>;
};

type FetchedPartition = {
  readonly messages: readonly {
    readonly offset: string;
    readonly timestamp: string;
    readonly value: Buffer | null;
    readonly isControlRecord?: boolean;
  }[];
};

const METADATA_MAX_AGE_MS = 300_000;

/**
 * Creates kafkajs's view of the cluster, to fetch records without a consumer: a consumer reads only
 * as a member of a group, which takes seconds to join.
 */
export function createKafkaCluster({ kafka }: KafkaClient): KafkaCluster {
  const name = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === "private:Kafka:createCluster",
  );
  const { [name!]: create } = kafka as unknown as Record<symbol, (options: object) => KafkaCluster>;
  return create!({ metadataMaxAge: METADATA_MAX_AGE_MS, allowAutoTopicCreation: false });
}

const connectSocket: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  const name = isIP(host) === 0 ? { servername: host } : {};
  // kafkajs passes an empty object for `ssl: true`, and nothing without TLS, despite its types.
  const tls = ssl as ConnectionOptions | null | undefined;
  const socket = tls ? connectTls({ host, port, ...name, ...tls }, onConnect) : connectPlain({ host, port }, onConnect);
  // Records are batched before they are written, so delaying packets gains nothing.
  return socket.setKeepAlive(true, KEEP_ALIVE_MS).setNoDelay(true);
};

/**
 * Creates a log writer. kafkajs logs each retry as an error, on two levels, and each join as
 * information. Here warnings and errors are one-line warnings, each message at most every 30 s, and
 * everything else is at debug level. Only fields known to hold no secrets are logged.
 */
function createLogWriter(log: Logger): (entry: LogEntry) => void {
  const logged_ms = new Map<string, number>();
  return ({ level, namespace, log: entry }) => {
    const { message, error, broker, groupId, topic, partition, retryCount } = entry as Record<string, unknown> & {
      message: string;
    };
    const reason = error instanceof Error ? error.message : error;
    const fields = { client: namespace, error: reason, broker, groupId, topic, partition, retryCount };
    const now = performance.now();
    const isNew = now - (logged_ms.get(message) ?? -Infinity) > LOG_AGAIN_MS;
    if (level > logLevel.WARN || EXPECTED.test(message) || !isNew) return log.debug(fields, message);
    if (logged_ms.size > 100) logged_ms.clear();
    logged_ms.set(message, now);
    log.warn(fields, message);
  };
}

const LOG_AGAIN_MS = 30_000;

/**
 * Messages of every rebalance and broker restart. If the cause persists, it is reported elsewhere.
 */
const EXPECTED = /rebalancing|re-joining|Response without match|^Response Heartbeat|^Response (Join|Sync)Group/;

/** A private class of kafkajs: the requests of a connection, sent or waiting. */
type RequestQueue = {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
};
let isPatched = false;

/**
 * Stops the polling of kafkajs for connections without waiting requests. kafkajs checks the queue
 * of each connection every millisecond, as it computes a timeout in the past (and Node warns). A
 * check is needed only if a request waits, and each one that has to wait schedules it itself.
 */
function stopIdlePolling(): void {
  if (isPatched) return;
  isPatched = true;
  const { prototype } = createRequire(import.meta.url)("kafkajs/src/network/requestQueue") as {
    prototype: RequestQueue;
  };
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) schedule.call(this);
  };
}

/**
 * Returns the innermost message of an error, in one line, as kafkajs wraps errors several times.
 */
export function kafkaReason(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return inner instanceof Error ? inner.message : String(inner);
}

/**
 * Returns a broker's error in Kafka's fixed words, or null if the client itself failed, whose
 * messages may name files and addresses.
 */
export function kafkaRefusal(error: unknown): string | null {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return inner instanceof Error && "type" in inner ? inner.message : null;
}

/** Returns Kafka's name of a protocol error, or the client's name of one of its own. */
export function kafkaErrorKind(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  const { type, name } = inner as { type?: unknown; name?: unknown };
  return typeof type === "string" ? type : String(name);
}
