import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo, Server as SocketServer, Socket } from "node:net";

import { StartError } from "../errors.ts";
import { limitUnread, shedConnections } from "./limits/connections.ts";
import type { SheddingLimits, Cut } from "./limits/connections.ts";
import { isAnswering, trackResponses } from "./fast-path/last-answer.ts";
import { answerMalformed } from "./malformed.ts";

/** How much of a listener one client, or all of them, may take. */
export type ConnectionLimits = SheddingLimits & {
  /** Of one request. */
  readonly headers: number;
  readonly headersSize_bytes: number;
  readonly headersTimeout_ms: number;
  /** For a whole request, with its body. */
  readonly requestTimeout_ms: number;
  /** How long a connection may stay idle between two requests. */
  readonly keepAlive_ms: number;
  /** How long nothing at all may pass on a connection that is not idle: longer than any question may take. */
  readonly stalled_ms: number;
  /** How long requests in flight may take to end when the listener closes. */
  readonly drain_ms: number;
};

export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = Object.freeze({
  connections: 10_000,
  descriptors: Number.POSITIVE_INFINITY,
  unread_bytes: 256 * 1024 * 1024,
  headers: 100,
  // A query of 4,096 characters may take nine bytes for each of them in an address.
  headersSize_bytes: 64 * 1024,
  headersTimeout_ms: 20_000,
  requestTimeout_ms: 60_000,
  // Longer than the minute after which most proxies drop theirs, so that no proxy sends into a closing connection.
  keepAlive_ms: 65_000,
  stalled_ms: 60_000,
  drain_ms: 10_000,
});

/**
 * How often Node looks for requests that did not come in time. Left alone it does twice a minute,
 * and so gives them half a minute more.
 */
const CHECK_MS = 1_000;

/**
 * Bounds what clients may take of a server; whoever goes beyond, or sends what is no HTTP, is told so.
 * @param cut called for each connection that is closed for others
 * @param isBusy whether a request of the connection is being answered, besides those that `server`
 *   knows
 */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  cut: (reason: Cut) => void = () => {},
  isBusy: (socket: Socket) => boolean = () => false,
): void {
  server.maxHeadersCount = limits.headers;
  server.headersTimeout = limits.headersTimeout_ms;
  server.requestTimeout = limits.requestTimeout_ms;
  server.keepAliveTimeout = limits.keepAlive_ms;
  server.timeout = limits.stalled_ms;
  // An option of `createServer`, read when the server listens.
  const checked = server as Server & { connectionsCheckingInterval: number };
  checked.connectionsCheckingInterval = Math.min(CHECK_MS, checked.connectionsCheckingInterval);
  // Node reads this property for each new connection; its types know it as an option of `createServer` only.
  (server as Server & { maxHeaderSize: number }).maxHeaderSize = limits.headersSize_bytes;
  // A client may say that it sends no more and still wait for its answer (`nc`, HTTP/1.0): Node
  // would hang up on it, though the request is done.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  answerMalformed(server);
  // Whoever takes over the server's own listeners has done so by then.
  server.once("listening", () => {
    trackResponses(server);
    shedConnections(server, limits, (socket) => isBusy(socket) || isAnswering(socket), cut);
    // A connection could not be taken. Without a listener, this would end the process.
    server.on("error", () => cut("descriptors"));
    limitUnread(server, limits.unread_bytes, cut);
  });
}

/**
 * Connections that wait to be taken, as far as the system allows. Where that is full, the system
 * drops attempts, and clients try again after seconds.
 */
const BACKLOG = 4_096;

/** What listens, and by which setting an operator moves it: for the line that says why it cannot. */
export type Listener = { readonly name: string; readonly setting: string };

/**
 * Listens, and tells where: port 0 takes a free one.
 * @throws StartError in one line, where the address is taken, not allowed, or not of this machine
 */
export async function listenOn(
  server: SocketServer,
  address: { readonly host: string; readonly port: number },
  listener: Listener,
): Promise<{ host: string; port: number }> {
  try {
    server.listen({ host: address.host, port: address.port, backlog: BACKLOG });
    await once(server, "listening");
  } catch (error) {
    throw cannotListen(error, address, listener);
  }
  return { host: address.host, port: (server.address() as AddressInfo).port };
}

/** Why a socket cannot listen, in one line. */
export function cannotListen(
  error: unknown,
  { host, port }: { readonly host: string; readonly port: number },
  { name, setting }: Listener,
): StartError {
  const why = `${name} can't listen on ${host}:${port}: ${reason(error)}; ${setting} sets another address`;
  return new StartError(why, { cause: error });
}

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case "EADDRINUSE":
      return "another process listens there";
    case "EACCES":
      return "this process may not (ports below 1024 are the system's)";
    case "EADDRNOTAVAIL":
      return "the host is not an address of this machine";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "the host has no known address";
    case "ERR_SOCKET_BAD_PORT":
      return "a port is a number from 0 to 65535";
    case undefined:
    default:
      return message;
  }
}

const SWEEP_MS = 50;

/**
 * Takes no more connections, lets the requests in flight end (for `drain_ms`, then they are cut
 * off), and resolves when all is closed. Closing again does nothing.
 */
export async function closeGracefully(server: Server, drain_ms: number): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  // A connection that becomes idle after `close` was called would otherwise stay for as long as it is kept alive.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => server.closeAllConnections(), drain_ms);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
