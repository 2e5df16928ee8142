import type { ExecutionContext } from "ava";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { ISocketFactory } from "kafkajs";

/**
 * A TCP proxy between a Kafka client and its broker that simulates failures of network and broker.
 */
export type Proxy = {
  /**
   * Routes every connection of a client through the proxy, whatever address the broker advertises.
   */
  readonly socketFactory: ISocketFactory;
  /** Keeps connections open and forwards no byte in either direction until {@link Proxy.flow}. */
  stall(): void;
  /** Forwards no byte on present connections again; new ones work. */
  blackHole(): void;
  /** Resets all connections and refuses new ones. */
  cut(): void;
  /** Restores forwarding, except for connections in a black hole. */
  flow(): void;
};

function hold({ client, upstream }: { client: Socket; upstream: Socket }): void {
  client.pause();
  upstream.pause();
}

export async function startProxy(t: ExecutionContext, broker: string): Promise<Proxy> {
  const [host, port] = [broker.slice(0, broker.lastIndexOf(":")), Number(broker.slice(broker.lastIndexOf(":") + 1))];
  const open = new Set<{ client: Socket; upstream: Socket; lost: boolean }>();
  let mode: "flow" | "stall" | "cut" = "flow";
  const server = createServer((client) => {
    if (mode === "cut") {
      client.resetAndDestroy();
      return;
    }
    const pair = { client, upstream: connect(port, host), lost: false };
    open.add(pair);
    const end = () => {
      open.delete(pair);
      pair.client.destroy();
      pair.upstream.destroy();
    };
    for (const [from, to] of [
      [client, pair.upstream],
      [pair.upstream, client],
    ] as const) {
      from.on("data", (bytes) => to.write(bytes));
      from.on("error", end);
      from.on("close", end);
    }
    if (mode === "stall") hold(pair);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port: own } = server.address() as AddressInfo;
  const cutAll = () => {
    for (const { client, upstream } of open) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  };
  t.teardown(() => {
    cutAll();
    server.close();
  });
  return {
    socketFactory: ({ onConnect }) => connect({ host: "127.0.0.1", port: own }, onConnect),
    stall() {
      mode = "stall";
      for (const pair of open) hold(pair);
    },
    blackHole() {
      for (const pair of open) {
        pair.lost = true;
        hold(pair);
      }
    },
    cut() {
      mode = "cut";
      cutAll();
    },
    flow() {
      mode = "flow";
      for (const { client, upstream, lost } of open) {
        if (lost) continue;
        client.resume();
        upstream.resume();
      }
    },
  };
}
