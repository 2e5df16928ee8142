import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/**
 * How long a client may go on sending after its last answer, or leave all of that answer unread.
 */
const LINGER_MS = 5_000;

/** Connections of which a request that was handled is the last. */
const ending = new WeakSet<Duplex>();
const lingering = new WeakSet<Duplex>();
const unanswered = new WeakMap<Duplex, Set<ServerResponse>>();

/** Keeps the responses of each connection until they are written, for the functions below. */
export function trackResponses(server: Server): void {
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    let responses = unanswered.get(socket);
    if (responses === undefined) unanswered.set(socket, (responses = new Set()));
    responses.add(response);
    response.once("close", () => responses.delete(response));
  });
}

/** Responses of a connection that are not written yet, in the order of their requests. */
export function unansweredOf(connection: Duplex): readonly ServerResponse[] {
  return [...(unanswered.get(connection) ?? [])];
}

/**
 * Whether a whole request of the connection is being handled: its answer would be lost with the
 * connection.
 */
export function isAnswering(connection: Duplex): boolean {
  return unansweredOf(connection).some(({ req }) => req.complete);
}

/** Whether nothing more that arrives on the connection may be handled. */
export function isEnding(connection: Duplex): boolean {
  return ending.has(connection);
}

/**
 * Makes the answer to `request`, which has to say `Connection: close`, the last one of its
 * connection: requests behind it would be handled and never answered. Node closes right after that
 * answer; with input unread, the system then resets the connection, and the client may lose this
 * and earlier answers.
 */
export function endAfter(request: IncomingMessage): void {
  const { socket } = request;
  ending.add(socket);
  socket.destroySoon = () => {
    // Where the body filled its buffer, reading was stopped on its behalf.
    request.resume();
    linger(socket);
  };
}

/**
 * Ends a connection once all that was written is sent, and drops input until the client ends it
 * too, within bounds.
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
  return unansweredOf(socket).at(-1) === response;
}
