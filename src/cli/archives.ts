import { type FileHandle, open } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";

import { ArchiveError } from "./archive-error.ts";
import { gunzip } from "./gunzip.ts";

/** Bytes of a signature, each with its smallest and largest value. */
type Signature = readonly (readonly [least: number, greatest: number])[];

const exactly = (...bytes: readonly number[]): Signature => bytes.map((byte) => [byte, byte]);

/** Leading bytes of files that are not read as they are, whatever the file name. */
const SIGNATURES: readonly { readonly format: ArchiveFormat; readonly signature: Signature }[] = [
  { format: "gzip", signature: exactly(0x1f, 0x8b, 0x08) },
  { format: "zstd", signature: exactly(0x28, 0xb5, 0x2f, 0xfd) },
  // A skippable frame, which some programs write first.
  { format: "zstd", signature: [[0x50, 0x5f], ...exactly(0x2a, 0x4d, 0x18)] },
  { format: "xz", signature: exactly(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00) },
  { format: "bzip2", signature: [...exactly(0x42, 0x5a, 0x68), [0x31, 0x39], ...exactly(0x31, 0x41, 0x59, 0x26)] },
  { format: "zip", signature: exactly(0x50, 0x4b, 0x03, 0x04) },
  { format: "UTF-32", signature: exactly(0xff, 0xfe, 0, 0) },
  { format: "UTF-32", signature: exactly(0, 0, 0xfe, 0xff) },
  // Without a byte order mark: two characters of ASCII.
  { format: "UTF-32", signature: [[1, 0x7f], ...exactly(0, 0, 0), [1, 0x7f], ...exactly(0, 0, 0)] },
  { format: "UTF-32", signature: [...exactly(0, 0, 0), [1, 0x7f], ...exactly(0, 0, 0), [1, 0x7f]] },
];
const LONGEST = Math.max(...SIGNATURES.map(({ signature }) => signature.length));

export type ArchiveFormat = "gzip" | "zstd" | "xz" | "bzip2" | "zip" | "UTF-32";

const UTF_32 = "it is UTF-32, which is not supported; convert it: iconv -f UTF-32 -t UTF-8";
const NAMED_AS_ARCHIVE = /\.(?:gz|tgz|zst|zstd)$/i;
/** Bytes fed to a decoder at a time. They may decompress to megabytes, with zstd to dozens. */
const FEED_BYTES = 1024;

/**
 * Decompresses a stream of gzip or zstd with any number of members; other data is passed through.
 * It buffers only a few chunks and the decoder's window.
 *
 * @param name file name, whose extension may declare an archive
 * @throws ArchiveError if the archive is truncated, damaged or of another format; the data before
 * the damage is yielded first
 */
export async function* unpack(chunks: AsyncIterable<Buffer>, name = ""): AsyncGenerator<Buffer> {
  const source = chunks[Symbol.asyncIterator]();
  const { head, format } = await readHead(source);
  const rest = (async function* () {
    if (head.length > 0) yield head;
    yield* { [Symbol.asyncIterator]: () => source };
  })();
  try {
    if (format === null) {
      if (NAMED_AS_ARCHIVE.test(name)) {
        const isTruncated = head.length === 0;
        throw new ArchiveError("its name is that of an archive, but it is not one", { isTruncated });
      }
      yield* rest;
    } else if (format === "gzip") yield* gunzip(rest);
    else if (format === "zstd") yield* decompressZstd(rest);
    else if (format === "UTF-32") throw new ArchiveError(UTF_32);
    else throw new ArchiveError(`it is a ${format} archive, which is not supported; unpack it and ship its files`);
  } finally {
    await source.return?.();
  }
}

/** @throws ArchiveError if the file is an archive: data appended to one does not form lines */
export async function refuseArchive(path: string): Promise<void> {
  await using file = await open(path);
  const format = await formatOfFile(file);
  if (format === "UTF-32") throw new ArchiveError(UTF_32);
  if (format !== null)
    throw new ArchiveError(`it is a ${format} archive, which can't be followed; ship it without --follow`);
}

/** Returns the format of a file by content, or by name; null if its bytes are lines. */
export async function formatOfFile(file: FileHandle, name = ""): Promise<ArchiveFormat | null> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(LONGEST), 0, LONGEST, 0);
  const format = formatOf(buffer.subarray(0, bytesRead));
  if (format !== null && format !== "unclear") return format;
  return NAMED_AS_ARCHIVE.test(name) ? "gzip" : null;
}

/** Reads only as much as needed to detect the format, so that interactive input is not delayed. */
async function readHead(source: AsyncIterator<Buffer>): Promise<{ head: Buffer; format: ArchiveFormat | null }> {
  let head = Buffer.alloc(0);
  for (;;) {
    const format = head.length === 0 ? "unclear" : formatOf(head);
    if (format !== "unclear") return { head, format };
    const next = await source.next();
    if (next.done === true) return { head, format: null };
    head = Buffer.concat([head, next.value]);
  }
}

function formatOf(head: Buffer): ArchiveFormat | null | "unclear" {
  const possible = SIGNATURES.filter(({ signature }) =>
    signature.every(([least, greatest], i) => i >= head.length || (head[i]! >= least && head[i]! <= greatest)),
  );
  const found = possible.find(({ signature }) => head.length >= signature.length);
  return found?.format ?? (possible.length === 0 ? null : "unclear");
}

/**
 * Feeds the decoder in small pieces and takes all output before the next one, as a failing stream
 * discards output that was not taken.
 */
async function* decompressZstd(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const decoder = createZstdDecompress();
  const unpacked: Buffer[] = [];
  let fault: Error | null = null;
  let size_bytes = 0;
  let wake = (): void => {};
  decoder.on("data", (chunk: Buffer) => unpacked.push(chunk));
  // A failed write does not call back.
  decoder.on("error", (error) => {
    fault = error;
    wake();
  });
  try {
    for await (const piece of piecesOf(chunks)) {
      size_bytes += piece.length;
      await new Promise<void>((resolve) => {
        wake = resolve;
        decoder.write(piece, () => resolve());
      });
      yield* unpacked.splice(0);
      if (fault !== null) break;
    }
    decoder.end();
    await finished(decoder).catch(() => {});
    yield* unpacked.splice(0);
    if (fault !== null) throw zstdFault(fault);
    // Node ignores data after the last zstd member.
    const rest_bytes = size_bytes - decoder.bytesWritten;
    if (rest_bytes > 0)
      throw new ArchiveError(`the zstd archive is damaged: ${rest_bytes} bytes after its end are not zstd`);
  } finally {
    decoder.destroy();
  }
}

async function* piecesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += FEED_BYTES) yield chunk.subarray(at, at + FEED_BYTES);
  }
}

function zstdFault(error: NodeJS.ErrnoException): ArchiveError {
  const isTruncated = error.code === "Z_BUF_ERROR";
  const what = isTruncated ? "truncated" : `damaged: ${error.message}`;
  return new ArchiveError(`the zstd archive is ${what}`, { cause: error, isTruncated });
}
