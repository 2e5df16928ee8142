import type { FileHandle } from "node:fs/promises";

import { type ArchiveFormat, formatOfFile, unpack } from "../archives.ts";
import { type Fence, FenceError, openWithin } from "./fence.ts";

/** Random access to the bytes of a file, decompressed if it is an archive. */
export type ByteSource = AsyncDisposable & {
  readonly dev: string;
  readonly ino: string;
  readonly isArchive: boolean;
  /** Reads up to `length` bytes; fewer only at the end. Archives are fastest in order. */
  read(position: number, length: number): Promise<Buffer>;
  /** The error that cut an archive short, once everything before it was read. */
  readonly fault: () => Error | null;
  /** Size in bytes; Infinity for an archive whose end was not read yet. */
  size(): Promise<number>;
  /** When the file was last changed; null for archives, which are opened on demand. */
  changed_ns(): Promise<bigint | null>;
};

/**
 * Opens a file or a gzip or zstd archive.
 * @throws ArchiveError for archives of other formats; FenceError
 */
export async function openBytes(path: string, fence: Fence): Promise<ByteSource> {
  const file = await openWithin(path, fence);
  try {
    const { dev, ino } = await file.stat({ bigint: true });
    const format: ArchiveFormat | null = await formatOfFile(file, path);
    const identity = { dev: String(dev), ino: String(ino) };
    if (format === null) return plainBytes(file, identity);
    await file.close();
    return archiveBytes(path, fence, identity);
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

type FileIdentity = Pick<ByteSource, "dev" | "ino">;

function plainBytes(file: FileHandle, identity: FileIdentity): ByteSource {
  return {
    ...identity,
    isArchive: false,
    async read(position, length) {
      const buffer = Buffer.allocUnsafe(length);
      let filled = 0;
      while (filled < length) {
        const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return buffer.subarray(0, filled);
    },
    fault: () => null,
    size: async () => (await file.stat()).size,
    changed_ns: async () => (await file.stat({ bigint: true })).mtimeNs,
    [Symbol.asyncDispose]: () => file.close(),
  };
}

/** Yields the bytes of an archive that was opened before. @throws FenceError if it was replaced */
async function* unpacked(path: string, fence: Fence, { dev, ino }: FileIdentity): AsyncGenerator<Buffer> {
  const file = await openWithin(path, fence);
  const there = await file.stat({ bigint: true });
  if (String(there.dev) === dev && String(there.ino) === ino) return yield* unpack(file.createReadStream(), path);
  await file.close();
  throw new FenceError("it was replaced while it was read");
}

/** Decompresses on demand and keeps the last window. Reading before it starts over. */
function archiveBytes(path: string, fence: Fence, identity: FileIdentity): ByteSource {
  let chunks: AsyncIterator<Buffer> | null = null;
  let start = 0;
  let window: Buffer = Buffer.alloc(0);
  let isEnded = false;
  let fault: Error | null = null;
  async function restart(): Promise<void> {
    await chunks?.return?.();
    chunks = unpacked(path, fence, identity);
    [start, window, isEnded, fault] = [0, Buffer.alloc(0), false, null];
  }
  return {
    ...identity,
    isArchive: true,
    async read(position, length) {
      if (chunks === null || position < start) await restart();
      for (;;) {
        const dropped = Math.min(Math.max(position - start, 0), window.length);
        window = window.subarray(dropped);
        start += dropped;
        if (isEnded || (start === position && window.length >= length)) return window.subarray(0, length);
        try {
          const next = await chunks!.next();
          if (next.done === true) isEnded = true;
          else window = window.length === 0 ? next.value : Buffer.concat([window, next.value]);
        } catch (error) {
          [isEnded, fault] = [true, error as Error];
        }
      }
    },
    fault: () => fault,
    size: () => Promise.resolve(isEnded ? start + window.length : Infinity),
    changed_ns: () => Promise.resolve(null),
    async [Symbol.asyncDispose]() {
      await chunks?.return?.();
    },
  };
}
