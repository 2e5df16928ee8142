import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Callbacks by connection, for when it closes. A pipelined response that waits for earlier ones
 * does not emit `close` with its connection.
 */
const closeCallbacks = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls `gone` when the response is closed or its connection is, or at once if either already is.
 */
export function whenClosed(response: ServerResponse, gone: () => void): void {
  const { socket } = response.req;
  if (response.closed || socket.destroyed) return gone();
  let pending = closeCallbacks.get(socket);
  if (pending === undefined) {
    const all = new Set<() => void>();
    closeCallbacks.set(socket, (pending = all));
    socket.once("close", () => all.forEach((end) => end()));
  }
  pending.add(gone);
  response.once("close", () => {
    pending.delete(gone);
    gone();
  });
}

/** Returns a signal that fires when the client of a response has disconnected. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  whenClosed(response, () => left.abort());
  return left.signal;
}
