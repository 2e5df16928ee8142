import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { StartError } from "../../src/errors.ts";

/** Ports below those that systems give by default to connections and to listeners on port 0. */
const LOWEST_PORT = 20_000;
const PORTS = 12_000;

/**
 * Returns `count` different free loopback ports, of a range from which the system gives none to
 * others by default, so that they are most likely still free when they are used.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = [];
  while (servers.length < count) {
    const server = await listen(LOWEST_PORT + randomInt(PORTS)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") throw error;
      return null;
    });
    if (server !== null) servers.push(server);
  }
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map(close));
  return ports;
}

/**
 * Checks that a port is free.
 * @param variable - environment variable that sets the port of this engine
 * @throws StartError if the port is in use
 */
export async function requireFreePort(port: number, engine: string, variable: string): Promise<void> {
  const server = await listen(port).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === "EADDRINUSE" ? "is in use by another program" : `cannot be used (${error.code})`;
    throw new StartError(`Port ${port} for ${engine} ${reason}: set ${variable} to a free one.`, { cause: error });
  });
  await close(server);
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
