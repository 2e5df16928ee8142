import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Why connections were cut that broke no rule: others needed the room. */
export const CUTS = ["crowd", "unread"] as const;
export type Cut = (typeof CUTS)[number];

export type CrowdLimits = {
  /** Connections of a listener at a time. */
  readonly connections: number;
  /** What all answers of a listener may hold that clients have not read, beside those that have lain there for less than {@link YOUNG_MS}. */
  readonly unread_bytes: number;
};

/** How long an answer may lie there unread before it counts: who reads, reads the largest in less. */
const YOUNG_MS = 5_000;
const SWEEP_MS = 1_000;

/**
 * Makes room where a listener is full: not by turning away who comes, for then whoever holds idle connections would keep out all others, but by cutting
 * whoever was there longest without a single answer; or, where all had one, whoever was there longest.
 */
export function shedConnections(server: Server, most: number, cut: (reason: Cut) => void): void {
  // Both in the order in which they came.
  const open = new Set<Socket>();
  const silent = new Set<Socket>();
  const forget = (socket: Socket): void => {
    open.delete(socket);
    silent.delete(socket);
  };
  /** Who had an answer since is looked at once, and then no more: a flood of connections costs the same few steps for each. */
  const firstSilent = (): Socket | undefined => {
    for (const socket of silent) {
      if (socket.bytesWritten === 0) return socket;
      silent.delete(socket);
    }
    return undefined;
  };
  server.on("connection", (socket: Socket) => {
    if (open.size >= most) {
      const leaver = firstSilent() ?? open.values().next().value!;
      forget(leaver);
      leaver.destroy();
      cut("crowd");
    }
    open.add(socket);
    silent.add(socket);
    socket.once("close", () => forget(socket));
  });
}

/**
 * Cuts clients that ask and do not read, those first whose answers have lain there for longest, until what is left is within bounds. An answer is kept until the
 * system has taken it all, so without this anyone who may ask could fill the memory.
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
