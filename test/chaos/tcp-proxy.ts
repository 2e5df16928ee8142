import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * How bytes are forwarded: immediately; not at all, in either direction; only towards the server,
 * whose responses are dropped; or one at a time. Connections are accepted in every mode.
 */
export type Flow = "open" | "stalled" | "half-open" | "trickle";

/** A TCP proxy between the service and an engine that simulates network failures. */
export type TcpProxy = AsyncDisposable & {
  /** `host:port` */
  readonly address: string;
  /** Sets the mode, also for open connections. */
  set(flow: Flow): void;
};

/** Interval between bytes, which gives some 500 bytes a second. */
const TRICKLE_MS = 2;

export async function startTcpProxy(upstream: string): Promise<TcpProxy> {
  const [host = "", port = ""] = upstream.split(":");
  let flow: Flow = "open";
  let changed = Promise.withResolvers<void>();
  const sockets = new Set<Socket>();

  /** Waits until bytes may be forwarded in this direction. */
  async function turn(direction: "out" | "back"): Promise<void> {
    const isHeld = (): boolean => flow === "stalled" || (flow === "half-open" && direction === "back");
    while (isHeld()) await changed.promise;
  }

  /** Forwards one direction of a connection, and reads no further ahead than it can forward. */
  async function pump(from: Socket, to: Socket, direction: "out" | "back"): Promise<void> {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      let rest = chunk;
      while (rest.length > 0) {
        await turn(direction);
        const count = flow === "trickle" ? 1 : rest.length;
        await write(to, rest.subarray(0, count));
        rest = rest.subarray(count);
        if (flow === "trickle") await sleep(TRICKLE_MS);
      }
    }
    to.end();
  }

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const engine = connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true });
    client.setNoDelay(true);
    for (const socket of [client, engine]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        engine.destroy();
      });
    }
    for (const [from, to, direction] of [
      [client, engine, "out"],
      [engine, client, "back"],
    ] as const) {
      pump(from, to, direction).catch(() => {
        client.destroy();
        engine.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const set = (next: Flow): void => {
    flow = next;
    changed.resolve();
    changed = Promise.withResolvers();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    set,
    async [Symbol.asyncDispose]() {
      set("open");
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

async function write(to: Socket, bytes: Buffer): Promise<void> {
  if (to.destroyed) throw new Error("the other end is gone");
  if (!to.write(bytes)) await once(to, "drain");
}
