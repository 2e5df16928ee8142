import { createInflateRaw, crc32, type InflateRaw } from "node:zlib";

import { ArchiveError } from "./archive-error.ts";

/** Bytes fed to the decoder at a time. */
const FEED_BYTES = 1024;
const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
const MAGIC = Buffer.from([0x1f, 0x8b, 0x08]);
/** Flags of a member's header, in the order of the fields that they announce. */
const FLAGS = { headerCrc: 2, extra: 4, name: 8, comment: 16 } as const;

/**
 * Decompresses gzip members, one after the other. Zero bytes behind them are padding. `createGunzip`
 * would drop what it has read of a member if other bytes follow that member.
 * @throws ArchiveError after everything before the fault was yielded
 */
export async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const input = new Input(chunks[Symbol.asyncIterator]());
  await skipHeader(input);
  for (;;) {
    yield* inflateMember(input);
    await input.skipZeros();
    const next = await input.peek(MAGIC.length);
    if (next.length === 0) return;
    if (!next.equals(MAGIC)) {
      const size_bytes = await input.countRest();
      throw new ArchiveError(`the gzip archive is damaged: ${size_bytes} bytes after its end are not gzip`);
    }
    await skipHeader(input);
  }
}

async function skipHeader(input: Input): Promise<void> {
  const header = await input.take(HEADER_BYTES);
  if (!header.subarray(0, MAGIC.length).equals(MAGIC)) throw damaged("it does not begin as gzip");
  const flags = header[3]!;
  if ((flags & FLAGS.extra) !== 0) await input.take((await input.take(2)).readUInt16LE());
  if ((flags & FLAGS.name) !== 0) await input.skipText();
  if ((flags & FLAGS.comment) !== 0) await input.skipText();
  if ((flags & FLAGS.headerCrc) !== 0) await input.take(2);
}

async function* inflateMember(input: Input): AsyncGenerator<Buffer> {
  const decoder = createInflateRaw();
  const inflated = new Inflated(decoder);
  let sum = 0;
  let size_bytes = 0;
  try {
    for (let fed_bytes = 0; !inflated.isEnded;) {
      const piece = await input.takeSome(FEED_BYTES);
      if (piece.length === 0) throw truncated();
      fed_bytes += piece.length;
      await inflated.write(piece);
      const unused_bytes = fed_bytes - decoder.bytesWritten;
      if (unused_bytes > 0) input.putBack(piece.subarray(piece.length - unused_bytes));
      for (const chunk of inflated.chunks.splice(0)) {
        sum = crc32(chunk, sum);
        size_bytes += chunk.length;
        yield chunk;
      }
      if (inflated.fault !== null) throw damaged(inflated.fault.message, inflated.fault);
      if (unused_bytes > 0) break;
    }
  } finally {
    decoder.destroy();
  }
  const trailer = await input.take(TRAILER_BYTES);
  if (trailer.readUInt32LE(0) !== sum) throw damaged("its checksum is wrong");
  if (trailer.readUInt32LE(4) !== size_bytes % 2 ** 32) throw damaged("its length is wrong");
}

/** The output of a decoder. */
class Inflated {
  readonly chunks: Buffer[] = [];
  fault: Error | null = null;
  isEnded = false;
  readonly #decoder: InflateRaw;
  #wake: () => void = () => {};

  constructor(decoder: InflateRaw) {
    this.#decoder = decoder;
    decoder.on("data", (chunk: Buffer) => this.chunks.push(chunk));
    // A failed write does not call back, and neither does one behind the end.
    decoder.on("error", (error) => {
      this.fault = error;
      this.#wake();
    });
    decoder.on("end", () => {
      this.isEnded = true;
      this.#wake();
    });
  }

  async write(piece: Buffer): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#decoder.write(piece, () => resolve());
    });
  }
}

/** Bytes that are read in any sizes. */
class Input {
  readonly #source: AsyncIterator<Buffer>;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterator<Buffer>) {
    this.#source = source;
  }

  /** Returns up to `size_bytes` bytes without taking them; fewer only at the end. */
  async peek(size_bytes: number): Promise<Buffer> {
    while (this.#bytes.length < size_bytes) {
      const next = await this.#source.next();
      if (next.done === true) break;
      this.#bytes = this.#bytes.length === 0 ? next.value : Buffer.concat([this.#bytes, next.value]);
    }
    return this.#bytes.subarray(0, size_bytes);
  }

  /** @throws ArchiveError if fewer bytes are left */
  async take(size_bytes: number): Promise<Buffer> {
    const taken = await this.peek(size_bytes);
    if (taken.length < size_bytes) throw truncated();
    this.#bytes = this.#bytes.subarray(size_bytes);
    return taken;
  }

  /** Takes at least one byte; none only at the end. */
  async takeSome(most_bytes: number): Promise<Buffer> {
    await this.peek(1);
    const taken = this.#bytes.subarray(0, most_bytes);
    this.#bytes = this.#bytes.subarray(taken.length);
    return taken;
  }

  putBack(bytes: Buffer): void {
    this.#bytes = Buffer.concat([bytes, this.#bytes]);
  }

  async skipText(): Promise<void> {
    while ((await this.take(1))[0] !== 0);
  }

  async skipZeros(): Promise<void> {
    for (;;) {
      const some = await this.takeSome(FEED_BYTES);
      if (some.length === 0) return;
      const other = some.findIndex((byte) => byte !== 0);
      if (other === -1) continue;
      this.putBack(some.subarray(other));
      return;
    }
  }

  async countRest(): Promise<number> {
    let size_bytes = this.#bytes.length;
    for (;;) {
      const next = await this.#source.next();
      if (next.done === true) return size_bytes;
      size_bytes += next.value.length;
    }
  }
}

function truncated(): ArchiveError {
  return new ArchiveError("the gzip archive is truncated", { isTruncated: true });
}

function damaged(why: string, cause?: Error): ArchiveError {
  return new ArchiveError(`the gzip archive is damaged: ${why}`, { cause });
}
