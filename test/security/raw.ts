import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

export type RawResponse = {
  /** Everything received, byte for byte as Latin-1. */
  readonly text: string;
  /** Whether the other side closed the connection. */
  readonly closed: boolean;
  readonly took_ms: number;
};

export type ExchangeOptions = {
  /** Stops reading when this matches. Default: when the other side closes the connection. */
  readonly until?: RegExp;
  /** Stops reading when nothing has followed the last bytes for so long. Default: never. */
  readonly quiet_ms?: number;
  readonly timeout_ms?: number;
};

/** Sends exactly these bytes and reads the response. */
export async function exchange(
  port: number,
  bytes: string | Buffer,
  options: ExchangeOptions = {},
): Promise<RawResponse> {
  const socket = await open(port);
  socket.write(bytes);
  return await readResponse(socket, options);
}

/**
 * Opens a connection whose reset is not an error, because the other side may have a reason for it.
 */
export async function open(port: number, options: { readonly allowHalfOpen?: boolean } = {}): Promise<Socket> {
  const socket = connect({ ...options, port, host: "127.0.0.1" });
  await once(socket, "connect");
  return socket.on("error", () => {});
}

export function readResponse(
  socket: Socket,
  { until, quiet_ms, timeout_ms = 90_000 }: ExchangeOptions = {},
): Promise<RawResponse> {
  const start_ms = performance.now();
  return new Promise((resolve) => {
    let text = "";
    let quiet: NodeJS.Timeout | undefined;
    const finish = (closed: boolean) => {
      clearTimeout(timer);
      clearTimeout(quiet);
      socket.destroy();
      resolve({ text, closed, took_ms: performance.now() - start_ms });
    };
    const timer = setTimeout(() => finish(false), timeout_ms);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (until?.test(text) === true) finish(false);
      else if (quiet_ms !== undefined) {
        clearTimeout(quiet);
        quiet = setTimeout(() => finish(false), quiet_ms);
      }
    });
    socket.on("close", () => finish(true));
  });
}

/** Returns the status codes of all responses received. */
export function statuses({ text }: RawResponse): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
