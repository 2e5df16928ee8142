import { constants, createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Readable } from "node:stream";

/** A longer line is cut there: without a bound one file without line breaks would fill the memory. */
const LINE_MAX_BYTES = 1024 * 1024;
const FOLLOW_POLL_MS = 250;
const READ_BYTES = 64 * 1024;

/** The lines of a stream, without their line breaks. The last one need not end in one. */
export async function* readLines(stream: Readable | AsyncIterable<Buffer>): AsyncGenerator<string> {
  const splitter = createSplitter();
  for await (const chunk of stream) yield* splitter.push(chunk as Buffer);
  yield* splitter.end();
}

/** The lines of a file. */
export function readFileLines(path: string): AsyncGenerator<string> {
  return readLines(createReadStream(path));
}

/**
 * The lines of a file, and those that are appended to it until `signal` fires. A file that was put in place of it (rotation), or that
 * became shorter, is read from its start. A line counts when its line break is there.
 */
export async function* followFile(path: string, signal: AbortSignal): AsyncGenerator<string> {
  while (!signal.aborted) {
    const file = await open(path, constants.O_RDONLY);
    try {
      yield* followOpenFile(path, file, signal);
    } finally {
      await file.close();
    }
  }
}

async function* followOpenFile(
  path: string,
  file: Awaited<ReturnType<typeof open>>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const splitter = createSplitter();
  const { ino } = await file.stat();
  const buffer = Buffer.alloc(READ_BYTES);
  let position = 0;
  while (!signal.aborted) {
    const { bytesRead } = await file.read(buffer, 0, READ_BYTES, position);
    position += bytesRead;
    if (bytesRead > 0) {
      yield* splitter.push(Buffer.from(buffer.subarray(0, bytesRead)));
      continue;
    }
    const there = await stat(path).catch(() => null);
    if (there !== null && (there.ino !== ino || there.size < position)) {
      yield* splitter.end();
      return;
    }
    await delay(FOLLOW_POLL_MS, undefined, { signal }).catch(() => {});
  }
}

function createSplitter() {
  let parts: Buffer[] = [];
  let size_bytes = 0;
  function take(): string {
    const line = Buffer.concat(parts).toString("utf8");
    parts = [];
    size_bytes = 0;
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
