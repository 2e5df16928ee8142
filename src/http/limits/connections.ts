import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as SocketServer, Socket } from "node:net";

/** Reasons why a well-behaved connection is evicted to make room for others. */
export const EVICTION_REASONS = ["crowd", "descriptors", "unread", "slow", "chunks"] as const;
export type EvictionReason = (typeof EVICTION_REASONS)[number];

export type SheddingLimits = {
  /** Maximum number of open connections of a listener. */
  readonly connections: number;
  /** The descriptor number at which the process counts as short of descriptors. */
  readonly descriptors: number;
  /**
   * Maximum size of a listener's unread responses. Those younger than {@link YOUNG_MS} do not
   * count.
   */
  readonly unread_bytes: number;
  /** Time within which a client has to read {@link LEAST_READ_BYTES} of a response. */
  readonly slow_ms: number;
};

/**
 * Age at which an unread response counts. A client that reads takes less time even for the largest
 * one.
 */
const YOUNG_MS = 5_000;
const SWEEP_MS = 1_000;

/** Maximum number of connections examined in search of one that can be closed. */
const EXAMINED_MAX = 64;
/** Connections without a response so far count as many if they are at least one in this number. */
const SILENT_SHARE = 4;

/**
 * Last observed state of a connection: response bytes that have left the process, and since when.
 */
type Observation = { readonly sent_bytes: number; readonly since_ms: number };

/**
 * Makes room when a listener is full, or the process short of descriptors. If it refused new
 * connections, the owners of idle ones could keep out everybody else, so it closes the oldest idle
 * connection: one without a response so far if those are many, else any. A connection with a
 * request in progress stays, unless its client has read nothing for {@link YOUNG_MS}. If none can
 * be closed, the new one is.
 *
 * @param isAnswering whether a complete request of a connection is in progress
 */
export function shedConnections(
  server: SocketServer,
  { connections: most, descriptors }: Pick<SheddingLimits, "connections" | "descriptors">,
  isAnswering: (socket: Socket) => boolean,
  onEvicted: (reason: EvictionReason) => void,
): void {
  // Both in order of arrival.
  const open = new Map<Socket, Observation>();
  const silent = new Map<Socket, Observation>();
  const forget = (socket: Socket): void => {
    open.delete(socket);
    silent.delete(socket);
  };
  const firstIdle = (sockets: Map<Socket, Observation>): Socket | undefined => {
    let examined = 0;
    for (const [socket, before] of sockets) {
      if (sockets === silent && socket.bytesWritten > 0) {
        // Each is examined only once, so that the cost per connection is constant.
        silent.delete(socket);
        continue;
      }
      if (!isAnswering(socket)) return socket;
      const seen = observe(socket, before);
      if (socket.writableLength > 0 && performance.now() - seen.since_ms >= YOUNG_MS) return socket;
      if (++examined === EXAMINED_MAX) return undefined;
      // Moves it to the end, so that the next search does not begin with it.
      sockets.delete(socket);
      sockets.set(socket, seen);
    }
    return undefined;
  };
  const nextToEvict = (): Socket | undefined => {
    const quiet = firstIdle(silent);
    // If few are silent, they have just arrived, and their requests are about to.
    return silent.size * SILENT_SHARE >= open.size ? (quiet ?? firstIdle(open)) : (firstIdle(open) ?? quiet);
  };
  server.on("connection", (socket: Socket) => {
    const isFull = open.size >= most;
    if (isFull || descriptorOf(socket) >= descriptors) {
      const victim = nextToEvict() ?? socket;
      forget(victim);
      victim.destroy();
      onEvicted(isFull ? "crowd" : "descriptors");
      if (victim === socket) return;
    }
    const seen: Observation = { sent_bytes: 0, since_ms: performance.now() };
    open.set(socket, seen);
    silent.set(socket, seen);
    socket.once("close", () => forget(socket));
  });
}

type Handle = { readonly fd?: number; readonly writeQueueSize?: number } | null;

function handleOf(socket: Socket): Handle {
  // oxlint-disable-next-line no-underscore-dangle
  return (socket as Socket & { readonly _handle?: Handle })._handle ?? null;
}

/** Returns how many bytes have left the process. */
function sentBytes(socket: Socket): number {
  return socket.bytesWritten - (handleOf(socket)?.writeQueueSize ?? socket.writableLength);
}

function observe(socket: Socket, before: Observation): Observation {
  const sent_bytes = sentBytes(socket);
  return sent_bytes === before.sent_bytes ? before : { sent_bytes, since_ms: performance.now() };
}

/** Returns whether output of a connection waits for its client to read. */
export function hasUnsent(socket: Socket): boolean {
  return socket.writableLength > 0 || (handleOf(socket)?.writeQueueSize ?? 0) > 0;
}

/**
 * Returns the descriptor of a socket, -1 if it is unknown, as on Windows. The system assigns the
 * lowest free number, so all lower ones are in use.
 */
function descriptorOf(socket: Socket): number {
  return handleOf(socket)?.fd ?? -1;
}

/**
 * Closes connections whose clients send requests but do not read responses, longest unread first,
 * until the total is within the limit. A response is buffered until the system has taken all of it,
 * so clients could otherwise fill the memory.
 */
export function limitUnread(server: Server, most_bytes: number, onEvicted: (reason: EvictionReason) => void): void {
  /** When each response was first seen unread. */
  const answers = new Map<ServerResponse, { since_ms: number | null }>();
  server.on("request", (_request: IncomingMessage, response: ServerResponse) => {
    answers.set(response, { since_ms: null });
    response.once("close", () => answers.delete(response));
  });
  const sweep = (): void => {
    const now_ms = performance.now();
    // Closing a connection frees all responses to its pipelined requests.
    const unread = new Map<Socket, { size_bytes: number; since_ms: number }>();
    let sum_bytes = 0;
    for (const [response, answer] of answers) {
      const size_bytes = response.writableLength;
      if (size_bytes === 0) continue;
      const since_ms = (answer.since_ms ??= now_ms);
      if (now_ms - since_ms < YOUNG_MS) continue;
      const { socket } = response.req;
      const before = unread.get(socket) ?? { size_bytes: 0, since_ms };
      unread.set(socket, {
        size_bytes: before.size_bytes + size_bytes,
        since_ms: Math.min(before.since_ms, since_ms),
      });
      sum_bytes += size_bytes;
    }
    for (const [socket, { size_bytes }] of [...unread].toSorted(([, a], [, b]) => a.since_ms - b.since_ms)) {
      if (sum_bytes <= most_bytes) return;
      sum_bytes -= size_bytes;
      socket.destroy();
      onEvicted("unread");
    }
  };
  const timer = setInterval(sweep, SWEEP_MS).unref();
  server.once("close", () => clearInterval(timer));
}

/** Bytes of a response that its client has to read within `slow_ms` while more is pending. */
export const LEAST_READ_BYTES = 64 * 1024;

/**
 * Closes connections whose clients read their responses too slowly. Such a response would hold its
 * memory, and what produces it, for as long as the client likes.
 */
export function limitSlowReaders(server: Server, slow_ms: number, onEvicted: (reason: EvictionReason) => void): void {
  const answers = new Set<ServerResponse>();
  server.on("request", (_request: IncomingMessage, response: ServerResponse) => {
    answers.add(response);
    response.once("close", () => answers.delete(response));
  });
  let pending = new Map<Socket, Observation>();
  const sweep = (): void => {
    const now_ms = performance.now();
    const before = pending;
    pending = new Map();
    for (const response of answers) {
      const { socket } = response.req;
      if (response.writableLength === 0 || pending.has(socket)) continue;
      const sent_bytes = sentBytes(socket);
      const seen = before.get(socket) ?? { sent_bytes, since_ms: now_ms };
      const isFast = sent_bytes - seen.sent_bytes >= LEAST_READ_BYTES;
      pending.set(socket, isFast ? { sent_bytes, since_ms: now_ms } : seen);
      if (isFast || now_ms - seen.since_ms < slow_ms) continue;
      socket.destroy();
      onEvicted("slow");
    }
  };
  const timer = setInterval(sweep, SWEEP_MS).unref();
  server.once("close", () => clearInterval(timer));
}
