import type { Socket } from "node:net";

/** A connection that is read into a buffer. */
export type BufferedRead = {
  /** Makes the connection a stream again. */
  stop(): void;
};

type Take = (size: number) => void;
type Inner = { readonly _handle?: { useUserBuffer?(buffer: Buffer): void } | null } & Record<symbol, unknown>;
type SocketSymbols = { readonly buffer: symbol; readonly callback: symbol };

/**
 * Private symbols of Node's sockets: undefined until the first connection, null if there are none.
 */
let symbols: SocketSymbols | null | undefined;

/**
 * Reads each chunk of a connection into the start of `buffer` and calls `take` with its size, like
 * `onread` of `net.Socket`, which Node offers for outgoing connections only. The next chunk of any
 * connection with the same buffer overwrites it. A stream would allocate 64 KB, a `Buffer` and an
 * event for each chunk, a notable part of the cost of small requests.
 *
 * @returns null, without effect, if this release of Node has different internals
 */
export function readInto(socket: Socket, buffer: Buffer, take: Take): BufferedRead | null {
  const inner = socket as unknown as Inner;
  if (symbols === undefined) symbols = symbolsOf(inner);
  const { _handle: handle } = inner;
  if (symbols === null || handle?.useUserBuffer === undefined) return null;
  handle.useUserBuffer(buffer);
  inner[symbols.buffer] = buffer;
  inner[symbols.callback] = take;
  const { callback } = symbols;
  return {
    stop() {
      inner[callback] = (size: number) => socket.push(Buffer.from(buffer.subarray(0, size)));
    },
  };
}

/** Returns the symbols. A new socket has them with the value null. */
function symbolsOf(inner: Inner): SocketSymbols | null {
  const unused = Object.getOwnPropertySymbols(inner).filter((symbol) => inner[symbol] === null);
  const named = (name: string): symbol | undefined => unused.find(({ description }) => description === name);
  const [buffer, callback] = [named("kBuffer"), named("kBufferCb")];
  return buffer === undefined || callback === undefined ? null : { buffer, callback };
}
