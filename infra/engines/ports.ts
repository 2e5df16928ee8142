import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { StartError } from "../../src/errors.ts";

/** Returns `count` different free loopback ports. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(0)));
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
