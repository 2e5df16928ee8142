import type { Socket } from "node:net";

/** What reads a connection. */
export type Reading = {
  /** From now on the connection is a stream again. */
  stop(): void;
};

type Take = (size: number) => void;
type Inner = { readonly _handle?: { useUserBuffer?(buffer: Buffer): void } | null } & Record<symbol, unknown>;
type Names = { readonly buffer: symbol; readonly callback: symbol };

/** Undefined until the first connection tells; null where it has none. */
let names: Names | null | undefined;

/**
 * Has each piece of what comes on a connection read to the start of `buffer`, and calls `take` with
 * its size: as `onread` of `net.Socket` does, which Node offers for connections that one opens, and
 * not for those that a server accepts. The next piece, of whatever connection has the same buffer,
 * is written over it. Read as a stream, Node sets aside 64 KB for each piece, and makes a `Buffer`
 * and a stream's event of it: for small requests a tenth of all they cost.
 *
 * @returns null where this release of Node has it elsewhere: then nothing is done
 */
export function readInto(socket: Socket, buffer: Buffer, take: Take): Reading | null {
  const inner = socket as unknown as Inner;
  if (names === undefined) names = namesOf(inner);
  const { _handle: handle } = inner;
  if (names === null || handle?.useUserBuffer === undefined) return null;
  handle.useUserBuffer(buffer);
  inner[names.buffer] = buffer;
  inner[names.callback] = take;
  const { callback } = names;
  return {
    stop() {
      inner[callback] = (size: number) => socket.push(Buffer.from(buffer.subarray(0, size)));
    },
  };
}

/** A socket has them from the start, as null. */
function namesOf(inner: Inner): Names | null {
  const unused = Object.getOwnPropertySymbols(inner).filter((symbol) => inner[symbol] === null);
  const named = (name: string): symbol | undefined => unused.find(({ description }) => description === name);
  const [buffer, callback] = [named("kBuffer"), named("kBufferCb")];
  return buffer === undefined || callback === undefined ? null : { buffer, callback };
}
