import type { ExecutionContext } from "ava";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

import { environmentOf, startService } from "../../support/service.ts";
import type { Service } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";

/** Starts a service with listeners for the duration of a test. */
export async function listeningService(
  t: ExecutionContext,
  settings: Record<string, string>,
  kind: "embedded" | "cluster" = "embedded",
): Promise<Service> {
  const service = await startService({ ...environmentOf(kind, temporaryFolder(t)), ...settings });
  t.teardown(() => service.close());
  return service;
}

/** Returns the port of a listener. */
export function portOf({ listeners }: Pick<Service, "listeners">, transport: "tcp" | "udp" = "tcp"): number {
  return listeners.find((listener) => listener.transport === transport)!.port;
}

export async function connectTo(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/**
 * Resolves once a connection is closed, also by a reset: `once` of `node:events` would reject then,
 * and whether a reset precedes the end depends on the system.
 */
export async function closed(socket: Duplex): Promise<void> {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
}

/** Sends bytes over a connection and waits until the other side has closed it. */
export async function sendStream(port: number, ...pieces: readonly (string | Uint8Array)[]): Promise<void> {
  const socket = await connectTo(port);
  socket.resume();
  for (const piece of pieces) if (!socket.write(piece)) await once(socket, "drain");
  socket.end();
  await closed(socket);
}

export async function sendDatagrams(port: number, datagrams: readonly (string | Buffer)[]): Promise<void> {
  const socket = createSocket("udp4");
  try {
    for (const datagram of datagrams) {
      await new Promise<void>((resolve, reject) => {
        socket.send(datagram, port, "127.0.0.1", (error) => (error === null ? resolve() : reject(error)));
      });
    }
  } finally {
    socket.close();
  }
}

/** Returns a metric of a listener. */
export async function metricOf(service: Pick<Service, "apiUrl">, name: string, listener: string): Promise<number> {
  const text = await (await fetch(`${service.apiUrl}/metrics`)).text();
  const found = new RegExp(`^loggia_listener_${name}\\{listener="${listener}"\\} (\\S+)$`, "m").exec(text);
  return Number(found?.[1] ?? NaN);
}
