import type { Logger } from "pino";

import type { Catalog } from "../catalog/catalog.ts";
import { StartError } from "../errors.ts";
import type { PostClock } from "../events/clock.ts";
import type { LogKey } from "../events/event.ts";
import type { RateLimiter } from "../ratelimit/rate-limiter.ts";
import type { ConnectionLimits } from "../http/limits/connection-limits.ts";
import type { ListenerContext } from "../ingest/listeners/listener.ts";
import { listenForForward } from "../ingest/protocols/forward/listen.ts";
import { listenForGelf } from "../ingest/protocols/gelf/listen.ts";
import { listenForLines } from "../ingest/protocols/lines/listen.ts";
import { listenForGrpc } from "../ingest/protocols/otlp/grpc.ts";
import { RecentIds } from "../ingest/append/recent-ids.ts";
import { listenForSyslog } from "../ingest/protocols/syslog/listen.ts";
import type { Metrics } from "../monitoring/metrics.ts";
import type { IngestMemory } from "../ingest/kit/ingest-memory.ts";
import type { WriteCoalescer } from "../ingest/append/write-coalescer.ts";
import type { Idempotency } from "../ingest/idempotency/idempotency.ts";
import type { Settings } from "../settings.ts";
import type { ListenerSettings, SocketSettings, Transport } from "../settings/listeners.ts";
import type { SettingName } from "../settings/table.ts";
import type { Address } from "../settings/values.ts";

export type ListenersOptions = {
  readonly catalog: Catalog;
  readonly coalescer: WriteCoalescer;
  readonly idempotency: Idempotency;
  readonly clock: PostClock;
  readonly limiter: RateLimiter;
  readonly memory: IngestMemory;
  readonly metrics: Pick<Metrics, "listener" | "posts">;
  /** Limits for all listeners together. */
  readonly connections: ConnectionLimits;
  readonly log: Logger;
};

/** Address of a listener. */
export type ListenerAddress = Address & {
  readonly protocol: keyof ListenerSettings;
  readonly transport: Transport;
};

/** Longest wait at shutdown for received events to be stored on the bus. */
const CLOSE_MS = 5_000;
const CONNECTIONS = 1_000;

const PROTOCOLS = {
  syslog: { setting: "LOGGIA_SYSLOG", listen: listenForSyslog },
  gelf: { setting: "LOGGIA_GELF", listen: listenForGelf },
  forward: { setting: "LOGGIA_FORWARD", listen: listenForForward },
  lines: { setting: "LOGGIA_LINES", listen: listenForLines },
  otlp: { setting: "LOGGIA_OTLP_GRPC", listen: listenForGrpc },
} as const satisfies Record<keyof ListenerSettings, { setting: SettingName; listen: Listen }>;

type Listen = (socket: SocketSettings, context: ListenerContext) => Promise<Address & { close(): Promise<void> }>;

/** Returns the connection limit of all listeners of these settings together. */
export function connectionsOf({ listeners }: Settings): number {
  return CONNECTIONS * streamsOf(listeners);
}

function streamsOf(listeners: ListenerSettings): number {
  return Object.values(listeners)
    .flat()
    .filter(({ transport }) => transport === "tcp").length;
}

/** Opens the listeners of other protocols. @throws StartError if one cannot listen */
export async function startListeners(
  { listeners, limits, rates }: Settings,
  options: ListenersOptions,
  closing: AsyncDisposableStack,
): Promise<readonly ListenerAddress[]> {
  requireLogs(listeners, options.catalog);
  const ending = new AbortController();
  const { connections, metrics, ...shared } = options;
  const context: ListenerContext = {
    ...shared,
    limits,
    recent: new RecentIds(),
    tallyOf: metrics.listener,
    onTimes: (counts) => metrics.posts.times?.(counts),
    connections: {
      connections: Math.floor(connections.connections / Math.max(1, streamsOf(listeners))),
      descriptors: connections.descriptors,
    },
    datagrams_s: rates.address,
    abandoned: ending.signal,
  };
  const opened: ListenerAddress[] = [];
  for (const [protocol, sockets] of socketsOf(listeners)) {
    const { listen } = PROTOCOLS[protocol];
    for (const socket of sockets) {
      const listening = await listen(socket, context);
      closing.defer(() => closeWithTimeout(listening, ending));
      opened.push({ protocol, transport: socket.transport, host: listening.host, port: listening.port });
    }
  }
  return opened;
}

async function closeWithTimeout(listening: { close(): Promise<void> }, ending: AbortController): Promise<void> {
  const timer = setTimeout(() => ending.abort(), CLOSE_MS);
  await listening.close();
  clearTimeout(timer);
}

/**
 * Checks the logs of all routes. It is done once, as logs are never deleted.
 * @param coming log that is about to be created
 * @throws StartError if one is missing
 */
export function requireLogs(listeners: ListenerSettings, catalog: Pick<Catalog, "log">, coming?: LogKey): void {
  for (const [protocol, sockets] of socketsOf(listeners)) {
    const logs = sockets.flatMap(({ routes }) => routes.map(({ log }) => log));
    const missing = logs.find((log) => log !== null && log !== coming && catalog.log(log) === null);
    if (missing === undefined) continue;
    const { setting } = PROTOCOLS[protocol];
    throw new StartError(`${setting} names the log ${missing}, which does not exist: create it before you set this`);
  }
}

function socketsOf(listeners: ListenerSettings) {
  return Object.entries(listeners) as [keyof ListenerSettings, readonly SocketSettings[]][];
}
