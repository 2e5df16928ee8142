import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as SocketServer, Socket } from "node:net";

/** Why connections were cut that broke no rule: others needed the room. */
export const CUTS = ["crowd", "descriptors", "unread"] as const;
export type Cut = (typeof CUTS)[number];

export type SheddingLimits = {
  /** Connections of a listener at a time. */
  readonly connections: number;
  /** The number of a descriptor from which on the process is short of them. */
  readonly descriptors: number;
  /**
   * What all answers of a listener may hold that clients have not read, beside those that have lain
   * there for less than {@link YOUNG_MS}.
   */
  readonly unread_bytes: number;
};

/** How long an answer may lie there unread before it counts: who reads, reads the largest in less. */
const YOUNG_MS = 5_000;
const SWEEP_MS = 1_000;

/** How many connections are looked at for one that can be closed, where many are being answered. */
const LOOKS = 64;
/** Those without an answer are many where they are at least this part of all: a quarter. */
const SILENT_SHARE = 4;

/** What was last seen of a connection: bytes of answers that have left the process, since when. */
type Seen = { readonly sent_bytes: number; readonly since_ms: number };

/**
 * Makes room where a listener is full, or the process short of descriptors. Refusing new
 * connections would let those who hold idle ones keep out all others, so the oldest idle connection
 * is closed: of those without a single answer where they are many, else of all. One whose request
 * is being answered stays, for its answer would be lost, unless its client has read nothing for
 * {@link YOUNG_MS}; where none can go, the new one is closed.
 *
 * @param isAnswering whether a whole request of a connection is being handled
 */
export function shedConnections(
  server: SocketServer,
  { connections: most, descriptors }: Pick<SheddingLimits, "connections" | "descriptors">,
  isAnswering: (socket: Socket) => boolean,
  cut: (reason: Cut) => void,
): void {
  // Both in the order of arrival.
  const open = new Map<Socket, Seen>();
  const silent = new Map<Socket, Seen>();
  const forget = (socket: Socket): void => {
    open.delete(socket);
    silent.delete(socket);
  };
  const firstIdle = (sockets: Map<Socket, Seen>): Socket | undefined => {
    let looks = 0;
    for (const [socket, before] of sockets) {
      if (sockets === silent && socket.bytesWritten > 0) {
        // Looked at once, so that a flood of connections costs the same few steps for each.
        silent.delete(socket);
        continue;
      }
      if (!isAnswering(socket)) return socket;
      const seen = lookAgain(socket, before);
      if (socket.writableLength > 0 && performance.now() - seen.since_ms >= YOUNG_MS) return socket;
      if (++looks === LOOKS) return undefined;
      // Behind all others, so that the next search does not begin with it.
      sockets.delete(socket);
      sockets.set(socket, seen);
    }
    return undefined;
  };
  const firstToLeave = (): Socket | undefined => {
    const quiet = firstIdle(silent);
    // Where few are silent, they have just arrived, and their requests with them.
    return silent.size * SILENT_SHARE >= open.size ? (quiet ?? firstIdle(open)) : (firstIdle(open) ?? quiet);
  };
  server.on("connection", (socket: Socket) => {
    const isFull = open.size >= most;
    if (isFull || descriptorOf(socket) >= descriptors) {
      const leaver = firstToLeave() ?? socket;
      forget(leaver);
      leaver.destroy();
      cut(isFull ? "crowd" : "descriptors");
      if (leaver === socket) return;
    }
    const seen: Seen = { sent_bytes: 0, since_ms: performance.now() };
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

function lookAgain(socket: Socket, before: Seen): Seen {
  const sent_bytes = socket.bytesWritten - (handleOf(socket)?.writeQueueSize ?? socket.writableLength);
  return sent_bytes === before.sent_bytes ? before : { sent_bytes, since_ms: performance.now() };
}

/**
 * The system gives the lowest number that is free, so all below it are in use. Not known on
 * Windows.
 */
function descriptorOf(socket: Socket): number {
  return handleOf(socket)?.fd ?? -1;
}

/**
 * Cuts clients that ask and do not read, those first whose answers have lain there for longest,
 * until what is left is within bounds. An answer is kept until the system has taken it all, so
 * without this anyone who may ask could fill the memory.
 */
export function limitUnread(server: Server, most_bytes: number, cut: (reason: Cut) => void): void {
  /** Each with the moment at which it was first seen unread. */
  const answers = new Map<ServerResponse, { since_ms: number | null }>();
  server.on("request", (_request: IncomingMessage, response: ServerResponse) => {
    answers.set(response, { since_ms: null });
    response.once("close", () => answers.delete(response));
  });
  const sweep = (): void => {
    const now_ms = performance.now();
    // A connection that goes takes along all answers to what was sent ahead on it.
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
      cut("unread");
    }
  };
  const timer = setInterval(sweep, SWEEP_MS).unref();
  server.once("close", () => clearInterval(timer));
}
