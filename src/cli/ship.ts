import { parseBase } from "./addresses.ts";
import { ArchiveError, refuseArchive, unpack } from "./archives.ts";
import { batchesOf } from "./batches.ts";
import { followFile, readFileLines, readLines } from "./lines.ts";
import { createOutage } from "./outage.ts";
import { type Item, postBatch } from "./post-batch.ts";
import { type ShipCounts, showProgress } from "./progress.ts";
import { CommandError, createSender } from "./request.ts";
import { eventOf, lineReader } from "./ship-events.ts";
import type { EventOptions, ReadLine } from "./ship-events.ts";
import { printable } from "./terminal.ts";

export type ShipOptions = EventOptions & {
  /** Where the service takes posts. */
  readonly post: string;
  readonly log: string;
  readonly key: string;
  readonly follow?: boolean;
  /** Batches under way at once. */
  readonly inFlight: number;
  /** How long the service may take no posts before the run ends. */
  readonly patience_s: number;
};

type Terminal = { readonly stderr: NodeJS.WriteStream; readonly stdin: NodeJS.ReadStream };

const BATCH_BOUNDS = { items: 1_000, size_bytes: 1_000_000, age_ms: 200 } as const;
/** Faults shown one by one; the rest are only counted. */
const SHOWN_FAULTS = 10;

/** So many lines in a row without a match, from the start, are no accident. */
const UNMATCHED_LINES = 100;

/**
 * Posts each line of the files (of standard input where there are none) as an event, many in one request, until they end or `signal` fires.
 * A batch is retried while the service is busy or away. Where that takes longer than the patience,
 * its lines count as failed and the run ends. Lines that the service refuses count as failed, and
 * files that can't be read as unread; the run goes on.
 *
 * A batch whose answer got lost is retried too, under the same key, by which the service knows it: no line is there twice.
 */
export async function ship(
  files: readonly string[],
  options: ShipOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<ShipCounts> {
  const base = parseBase("LOGGIA_POST", options.post);
  const url = new URL(
    `${base.origin}${base.pathname.replace(/\/$/, "")}/1/logs/${encodeURIComponent(options.log)}/events`,
  );
  const reader = lineReader(options);
  const counts: ShipCounts = { posted: 0, failed: 0, retried: 0, unread: 0, isUnmatched: false };
  const sender = createSender(options.inFlight);
  const progress = showProgress(counts, terminal.stderr);
  const fail = (line: string, why: string): void => {
    counts.failed += 1;
    if (counts.failed <= SHOWN_FAULTS) progress.note(`not posted: ${printable(line.slice(0, 80))}: ${printable(why)}`);
  };
  const unreadable = (file: string, error: Error): void => {
    counts.unread += 1;
    progress.note(`loggia: ${printable(`${file} can't be read: ${error.message}`)}`);
  };
  const running = new Set<Promise<void>>();
  const given_up: CommandError[] = [];
  /** Fires as well where the service refuses all: who follows a file would not look before the next line. */
  const stop = new AbortController();
  let unreadTimes = 0;
  const unreadTime = (time: string): void => {
    unreadTimes += 1;
    if (unreadTimes === 1)
      progress.note(
        `loggia: no time that can be read: ${printable(time.slice(0, 80))}: such lines get that of their post`,
      );
  };
  const stopped = AbortSignal.any([signal, stop.signal]);
  const lines = allLines(files, options, terminal, { signal: stopped, unreadable });
  const matches = reader === null ? null : createMatches(reader, counts, progress.note);
  const items = eventsOf(lines, matches?.read ?? null, options, unreadTime);
  const outage = createOutage({ where: url.origin, patience_s: options.patience_s, note: progress.note });
  const posting = { sender, url, options, counts, fail, outage, signal: stopped };
  const settle = async (batch: readonly Item[]): Promise<void> => {
    try {
      if ((await postBatch(batch, posting)) === "settled" || stopped.aborted) return;
      progress.note(`loggia: gave up after ${options.patience_s} s; what was not read yet is not posted`);
    } catch (error) {
      given_up.push(asCommandError(error));
    }
    stop.abort();
  };
  try {
    for await (const batch of batchesOf(items, ({ json }) => Buffer.byteLength(json) + 1, BATCH_BOUNDS)) {
      const post = settle(batch).finally(() => running.delete(post));
      running.add(post);
      if (running.size >= options.inFlight) await Promise.race(running);
      if (stop.signal.aborted) break;
    }
  } finally {
    await Promise.all(running);
    matches?.end();
    if (unreadTimes > 1) progress.note(`loggia: ${unreadTimes} lines have no time that can be read`);
    progress.close();
    sender.close();
  }
  if (given_up[0] !== undefined) throw given_up[0];
  return counts;
}

function asCommandError(error: unknown): CommandError {
  return error instanceof CommandError ? error : new CommandError("Shipping failed", { cause: error });
}

async function* eventsOf(
  lines: AsyncIterable<string>,
  read: ReadLine | null,
  options: ShipOptions,
  unreadTime: (time: string) => void,
): AsyncGenerator<Item> {
  for await (const line of lines) {
    if (line.trim() !== "") yield { line, json: eventOf(line, read, options, unreadTime) };
  }
}

async function* allLines(
  files: readonly string[],
  options: ShipOptions,
  terminal: Terminal,
  { signal, unreadable }: { signal: AbortSignal; unreadable: (file: string, error: Error) => void },
): AsyncGenerator<string> {
  if (files.length === 0) {
    signal.addEventListener("abort", () => terminal.stdin.destroy(), { once: true });
    try {
      yield* readLines(unpack(terminal.stdin));
    } catch (error) {
      if (error instanceof ArchiveError) unreadable("standard input", error);
      else if (!signal.aborted) throw error;
    }
    return;
  }
  if (options.follow === true && files.length > 1)
    throw new CommandError("--follow takes one file; start one command for each");
  for (const file of files) {
    if (signal.aborted) return;
    try {
      if (options.follow === true) await refuseArchive(file);
      const lines = options.follow === true ? followFile(file, signal) : readFileLines(file);
      for await (const line of lines) {
        yield line;
        if (signal.aborted) return;
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
      unreadable(file, error as Error);
    }
  }
}

/** Reads lines, and notices where none is as was meant: its author meant other lines. */
function createMatches({ name, read }: NonNullable<ReturnType<typeof lineReader>>, counts: ShipCounts, note: Note) {
  let lines = 0;
  let matched = 0;
  const say = (): void =>
    note(`loggia: ${name} ${lines === 1 ? "1 line" : `${lines} lines`}; whole lines become texts`);
  return {
    read: ((line) => {
      lines += 1;
      const said = read(line);
      if (said !== null) matched += 1;
      if (lines === UNMATCHED_LINES && matched === 0) say();
      return said;
    }) satisfies ReadLine,
    end: () => {
      counts.isUnmatched = lines > 0 && matched === 0;
      if (counts.isUnmatched && lines !== UNMATCHED_LINES) say();
    },
  };
}

type Note = (text: string) => void;
