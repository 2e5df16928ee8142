import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** How long a client may send after its last response, or leave that response unread. */
const LINGER_MS = 5_000;

/** Connections whose last request is known. */
const ending = new WeakSet<Duplex>();
const lingering = new WeakSet<Duplex>();
const unanswered = new WeakMap<Duplex, Set<ServerResponse>>();

/** Tracks the responses of each connection until they are written, for the functions below. */
export function trackResponses(server: Server): void {
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    let responses = unanswered.get(socket);
    if (responses === undefined) unanswered.set(socket, (responses = new Set()));
    responses.add(response);
    response.once("close", () => responses.delete(response));
  });
}

/**
 * Returns the responses of a connection that are not written yet, in the order of their requests.
 */
export function pendingResponses(connection: Duplex): readonly ServerResponse[] {
  return [...(unanswered.get(connection) ?? [])];
}

/** Whether a complete request is in progress, whose response would be lost with the connection. */
export function isAnswering(connection: Duplex): boolean {
  return pendingResponses(connection).some(({ req }) => req.complete);
}

/** Whether further input on the connection must be ignored. */
export function isEnding(connection: Duplex): boolean {
  return ending.has(connection);
}

/**
 * Makes the response to `request`, which must say `Connection: close`, the last one of its
 * connection; later requests would be handled but never answered. By default Node closes the
 * connection right after the response. If input is unread then, the system resets the connection,
 * and the client may lose this and earlier responses.
 */
export function endAfter(request: IncomingMessage): void {
  const { socket } = request;
  ending.add(socket);
  socket.destroySoon = () => {
    // If the body filled its buffer, reading was paused.
    request.resume();
    linger(socket);
  };
}

/**
 * Ends a connection once all output is sent, and discards input until the client ends it too,
 * within limits.
 */
export function linger(connection: Duplex): void {
  if (lingering.has(connection)) return;
  lingering.add(connection);
  connection.removeAllListeners("data").on("data", () => {});
  connection.resume();
  if (connection.writable) connection.end();
  let unsent = connection.writableLength;
  const timer = setTimeout(() => {
    const left = connection.writableLength;
    if (left === 0 || left === unsent) connection.destroy();
    else {
      unsent = left;
      timer.refresh();
    }
  }, LINGER_MS).unref();
  connection.once("close", () => clearTimeout(timer));
}

/** Whether a response belongs to the latest request of its connection. */
export function isLatest(response: ServerResponse, socket: Socket): boolean {
  return pendingResponses(socket).at(-1) === response;
}
