import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo, Server as SocketServer, Socket } from "node:net";

import { StartError } from "../errors.ts";
import { hasUnsent, limitSlowReaders, limitUnread, shedConnections } from "./limits/connections.ts";
import type { EvictionReason } from "./limits/connections.ts";
import type { ConnectionLimits } from "./limits/connection-limits.ts";
import { limitChunks } from "./limits/chunks.ts";
import { isAnswering, trackResponses } from "./response-tracker.ts";
import { answerMalformed } from "./malformed.ts";

/**
 * Interval at which Node checks for requests that are late. Its default is 30 s, which would extend
 * every timeout by up to that.
 */
const CHECK_MS = 1_000;

/**
 * Applies connection limits to a server. A client that exceeds them, or does not speak HTTP, gets
 * an error response.
 * @param onEvicted called for each evicted connection
 * @param isBusy whether a request of the connection is in progress that `server` does not know of
 */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  onEvicted: (reason: EvictionReason) => void = () => {},
  isBusy: (socket: Socket) => boolean = () => false,
): void {
  server.maxHeadersCount = limits.headers;
  server.headersTimeout = limits.headersTimeout_ms;
  server.requestTimeout = limits.requestTimeout_ms;
  server.keepAliveTimeout = limits.keepAlive_ms;
  server.timeout = limits.stalled_ms;
  const isAnsweringOn = (socket: Socket): boolean => isBusy(socket) || isAnswering(socket);
  // With a listener, Node leaves it to it to close the connection.
  server.on("timeout", (socket: Socket) => {
    if (isAnsweringOn(socket) && !hasUnsent(socket)) socket.setTimeout(limits.stalled_ms);
    else socket.destroy();
  });
  // An option of `createServer`, read when the server listens.
  const checked = server as Server & { connectionsCheckingInterval: number };
  checked.connectionsCheckingInterval = Math.min(CHECK_MS, checked.connectionsCheckingInterval);
  // Node reads this property for each new connection, but its types declare it only as an option of
  // `createServer`.
  (server as Server & { maxHeaderSize: number }).maxHeaderSize = limits.headersSize_bytes;
  // A client may half-close the connection and still wait for the response (`nc`, HTTP/1.0). By
  // default Node would close the connection although the request is complete.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  answerMalformed(server);
  // Code that replaces the server's own listeners has done so by then.
  server.once("listening", () => {
    trackResponses(server);
    shedConnections(server, limits, isAnsweringOn, onEvicted);
    // Emitted if a connection could not be accepted. Without a listener this would end the process.
    server.on("error", () => onEvicted("descriptors"));
    limitUnread(server, limits.unread_bytes, onEvicted);
    limitChunks(server, onEvicted);
    limitSlowReaders(server, limits.slow_ms, onEvicted);
  });
}

/**
 * Length of the accept queue, as far as the system allows. If it is full, the system drops
 * connection attempts, and clients retry only after seconds.
 */
const BACKLOG = 4_096;

/** Name of a listener, and the setting that changes its address, for error messages. */
export type Listener = { readonly name: string; readonly setting: string };

/** The listeners for HTTP. */
export const LISTENERS = {
  api: { name: "the API", setting: "LOGGIA_API" },
  post: { name: "posting", setting: "LOGGIA_POST" },
  monitoring: { name: "monitoring", setting: "LOGGIA_OPS" },
} as const satisfies Readonly<Record<string, Listener>>;

/**
 * Starts listening and returns the address. Port 0 selects a free port.
 * @throws StartError in one line, if the address is in use, not permitted, or not one of this
 *   machine
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

/** Returns the error for a socket that cannot listen, in one line. */
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
      return "permission denied (ports below 1024 are reserved by the system)";
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
 * Stops accepting connections, waits for the requests in flight (at most `drain_ms`, then their
 * connections are closed), and resolves when everything is closed. Closing again does nothing.
 */
export async function closeGracefully(server: Server, drain_ms: number): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  // A connection that becomes idle after `close` would stay open until its keep-alive timeout.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const deadline = setTimeout(() => server.closeAllConnections(), drain_ms);
  await closed;
  clearInterval(sweep);
  clearTimeout(deadline);
}
