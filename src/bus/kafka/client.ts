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
  /** `host:port`, at least one that answers. */
  readonly brokers: readonly string[];
  /** Certificate authorities in PEM, the system's own where null; false: no TLS. */
  readonly tls?: false | { readonly ca: string | null };
  readonly sasl?: {
    readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
    readonly username: string;
    readonly password: string;
  } | null;
  readonly clientId?: string;
  /** How connections are made; a test puts its own in between. */
  readonly socketFactory?: ISocketFactory;
  readonly log: Logger;
};

export type KafkaClient = {
  readonly kafka: Kafka;
  /** Drops every connection to a broker (`host:port`), so that whoever uses one notices at once and makes a new one. */
  readonly dropConnections: (broker: string) => void;
  /** Drops all connections. What is in flight fails at once; what comes next connects anew. */
  readonly dropAllConnections: () => void;
};

const CONNECT_TIMEOUT_MS = 3000;
const AUTHENTICATION_TIMEOUT_MS = 5000;
export const REQUEST_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 15_000;

/**
 * The client retries inside itself, on several levels that multiply. So it gets few retries, and
 * those who use it try again with a deadline of their own: then an engine that comes back is
 * noticed within a second.
 */
export const CLIENT_RETRY: RetryOptions = { initialRetryTime: 100, maxRetryTime: 1000, retries: 2 };

/**
 * A client for one use (producer, consumer or admin). Its connections are its own, so that one use
 * can drop them without disturbing another.
 *
 * kafkajs keeps a connection on which requests time out; where its packets go nowhere, nothing
 * would mend until TCP gives up after a quarter of an hour. Users therefore call `dropConnections`
 * at `REQUEST_TIMEOUT`.
 */
export function createKafkaClient(connection: KafkaConnection): KafkaClient {
  restWhereNothingWaits();
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
      if (broker === null || broker === to) socket.destroy(new Error("dropped, for answers did not come"));
    }
  };
  return { kafka: new Kafka(config), dropConnections: drop, dropAllConnections: () => drop(null) };
}

const connectSocket: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  const name = isIP(host) === 0 ? { servername: host } : {};
  // With `ssl: true` the client passes an empty object, with no TLS nothing, whatever its types say.
  const tls = ssl as ConnectionOptions | null | undefined;
  const socket = tls ? connectTls({ host, port, ...name, ...tls }, onConnect) : connectPlain({ host, port }, onConnect);
  // Records are gathered before they are written; nothing is won by waiting for more.
  return socket.setKeepAlive(true, KEEP_ALIVE_MS).setNoDelay(true);
};

/**
 * The client tells each of many retries as an error, on two levels, and each join as news. Here a
 * retry is a warning of one line, the same one only now and then; all else is for debugging. Only
 * fields that are known to hold no secret are passed on.
 */
function createLogWriter(log: Logger): (entry: LogEntry) => void {
  const told = new Map<string, number>();
  return ({ level, namespace, log: entry }) => {
    const { message, error, broker, groupId, topic, partition, retryCount } = entry as Record<string, unknown> & {
      message: string;
    };
    const reason = error instanceof Error ? error.message : error;
    const fields = { client: namespace, error: reason, broker, groupId, topic, partition, retryCount };
    const now = performance.now();
    const isNew = now - (told.get(message) ?? -Infinity) > TELL_AGAIN_MS;
    if (level > logLevel.WARN || EXPECTED.test(message) || !isNew) return log.debug(fields, message);
    if (told.size > 100) told.clear();
    told.set(message, now);
    log.warn(fields, message);
  };
}

const TELL_AGAIN_MS = 30_000;

/** What belongs to every rebalance and every restart of a broker, and is told elsewhere where it lasts. */
const EXPECTED = /rebalancing|re-joining|Response without match|^Response Heartbeat|^Response (Join|Sync)Group/;

/** What is reached for inside kafkajs: the requests of a connection, of which some wait until others are answered. */
type RequestQueue = {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
};
let rests = false;

/**
 * kafkajs looks at the queue of each connection every millisecond for as long as it is open: where
 * nothing waits, it asks for a timer in the past, of which Node makes one millisecond (and warns).
 * Only where something waits there is something to look at; and whatever comes to wait asks for
 * that itself.
 */
function restWhereNothingWaits(): void {
  if (rests) return;
  rests = true;
  const { prototype } = createRequire(import.meta.url)("kafkajs/src/network/requestQueue") as {
    prototype: RequestQueue;
  };
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) schedule.call(this);
  };
}

/** The innermost reason of an error, in one line: kafkajs wraps them several times. */
export function reasonOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return inner instanceof Error ? inner.message : String(inner);
}

/**
 * What a broker answered, in Kafka's fixed words; null where the client failed by itself, whose
 * words may name files and addresses.
 */
export function refusalOf(error: unknown): string | null {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return inner instanceof Error && "type" in inner ? inner.message : null;
}

/** Kafka's name for a protocol error, or the client's for one of its own. */
export function kindOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  const { type, name } = inner as { type?: unknown; name?: unknown };
  return typeof type === "string" ? type : String(name);
}
