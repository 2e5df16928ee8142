import { constants, createReadStream } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Readable } from "node:stream";

import { unpack } from "./archives.ts";

/** A longer line is cut there: without a bound one file without line breaks would fill the memory. */
const LINE_MAX_BYTES = 1024 * 1024;
const FOLLOW_POLL_MS = 250;
/** Who writes a file may do so for a while after another was put in its place: so long it is read on, and then to its end. */
const REPLACED_MS = 2_000;
const READ_BYTES = 64 * 1024;

/** The lines of a stream, without their line breaks and a byte order mark at the start. The last one need not end in a line break. */
export async function* readLines(stream: Readable | AsyncIterable<Buffer>): AsyncGenerator<string> {
  const splitter = createSplitter();
  for await (const chunk of stream) yield* splitter.push(chunk as Buffer);
  yield* splitter.end();
}

/** The lines of a file, also of one that is packed. @throws ArchiveError */
export function readFileLines(path: string): AsyncGenerator<string> {
  return readLines(unpack(createReadStream(path), path));
}

/**
 * The lines of a file, and those that are appended to it until `signal` fires. A file that was put in place of it (rotation), or that
 * became shorter, is read from its start. A line counts when its line break is there.
 */
export async function* followFile(path: string, signal: AbortSignal): AsyncGenerator<string> {
  let file: FileHandle | null = await open(path, constants.O_RDONLY);
  while (file !== null) {
    try {
      yield* followOpenFile(path, file, signal);
    } finally {
      await file.close();
    }
    file = await openOnceThere(path, signal);
  }
}

/** A file that was there a moment ago, and may be put in place again; null where `signal` fires before. */
async function openOnceThere(path: string, signal: AbortSignal): Promise<FileHandle | null> {
  while (!signal.aborted) {
    try {
      return await open(path, constants.O_RDONLY);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    await delay(FOLLOW_POLL_MS, undefined, { signal }).catch(() => {});
  }
  return null;
}

async function* followOpenFile(path: string, file: FileHandle, signal: AbortSignal): AsyncGenerator<string> {
  const splitter = createSplitter();
  const { ino } = await file.stat();
  const buffer = Buffer.alloc(READ_BYTES);
  let position = 0;
  let replacedAt_ms = Infinity;
  while (!signal.aborted) {
    const { bytesRead } = await file.read(buffer, 0, READ_BYTES, position);
    position += bytesRead;
    if (bytesRead > 0) {
      yield* splitter.push(Buffer.from(buffer.subarray(0, bytesRead)));
      continue;
    }
    const there = await stat(path).catch(() => null);
    const isReplaced = there !== null && there.ino !== ino;
    replacedAt_ms = isReplaced ? Math.min(replacedAt_ms, performance.now()) : Infinity;
    const isShorter = there !== null && !isReplaced && there.size < position;
    if (isShorter || performance.now() - replacedAt_ms >= REPLACED_MS) {
      yield* splitter.end();
      return;
    }
    await delay(FOLLOW_POLL_MS, undefined, { signal }).catch(() => {});
  }
}

function createSplitter() {
  let parts: Buffer[] = [];
  let size_bytes = 0;
  let isFirst = true;
  function take(): string {
    const whole = Buffer.concat(parts).toString("utf8");
    const line = isFirst && whole.startsWith("\uFEFF") ? whole.slice(1) : whole;
    parts = [];
    size_bytes = 0;
    isFirst = false;
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  }
  function keep(part: Buffer): void {
    const room = LINE_MAX_BYTES - size_bytes;
    if (room <= 0) return;
    parts.push(part.length > room ? part.subarray(0, room) : part);
    size_bytes += Math.min(part.length, room);
  }
  return {
    *push(chunk: Buffer): Generator<string> {
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        keep(chunk.subarray(start, end));
        yield take();
        start = end + 1;
      }
      if (start < chunk.length) keep(chunk.subarray(start));
    },
    *end(): Generator<string> {
      if (size_bytes > 0) yield take();
    },
  };
}
