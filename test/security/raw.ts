import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

export type Heard = {
  /** All that came, byte for byte as Latin-1. */
  readonly text: string;
  /** Whether the other side ended the connection. */
  readonly closed: boolean;
  readonly took_ms: number;
};

export type ExchangeOptions = {
  /** Enough has come when this matches. Default: when the other side ends the connection */
  readonly until?: RegExp;
  readonly timeout_ms?: number;
};

/** Sends exactly these bytes, and hears what comes back. */
export async function exchange(port: number, bytes: string | Buffer, options: ExchangeOptions = {}): Promise<Heard> {
  const socket = await open(port);
  socket.write(bytes);
  return await hear(socket, options);
}

/** A connection whose breaking is no error: the other side may have every reason for it. */
export async function open(port: number, options: { readonly allowHalfOpen?: boolean } = {}): Promise<Socket> {
  const socket = connect({ ...options, port, host: "127.0.0.1" });
  await once(socket, "connect");
  return socket.on("error", () => {});
}

export function hear(socket: Socket, { until, timeout_ms = 30_000 }: ExchangeOptions = {}): Promise<Heard> {
  const start_ms = performance.now();
  return new Promise((resolve) => {
    let text = "";
    const finish = (closed: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, closed, took_ms: performance.now() - start_ms });
    };
    const timer = setTimeout(() => finish(false), timeout_ms);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (until?.test(text) === true) finish(false);
    });
    socket.on("close", () => finish(true));
  });
}

/** The status lines of all answers in what was heard. */
export function statuses({ text }: Heard): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
