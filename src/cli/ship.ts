import { firstCharacters } from "../events/text.ts";
import { parseBase } from "./addresses.ts";
import { ArchiveError, refuseArchive, unpack } from "./archives.ts";
import { batchesOf } from "./batches.ts";
import { followFile, readFileLines, readLines } from "./lines.ts";
import { createOutage } from "./outage.ts";
import { type Item, postBatch } from "./post-batch.ts";
import { type ShipCounts, showProgress } from "./progress.ts";
import { CommandError, createSender } from "./request.ts";
import { printable } from "./terminal.ts";
import { readTime } from "./times.ts";

export type ShipOptions = {
  /** Where the service takes posts. */
  readonly post: string;
  readonly log: string;
  readonly key: string;
  readonly tags?: string;
  readonly source?: string;
  readonly user?: string;
  /** An expression whose named groups become fields of the event; lines that it does not match are posted as they are. */
  readonly pattern?: string;
  readonly follow?: boolean;
  /** Batches under way at once. */
  readonly inFlight: number;
  /** A line longer than this many characters is posted cut, with the line as data; 0: never. */
  readonly cut: number;
  /** So many characters of such a line are posted as data. */
  readonly data: number;
  /** How long the service may take no posts before the run ends. */
  readonly patience_s: number;
};

type Terminal = { readonly stderr: NodeJS.WriteStream; readonly stdin: NodeJS.ReadStream };

const FIELDS: ReadonlySet<string> = new Set([
  "text",
  "tags",
  "source",
  "user",
  "value",
  "geo",
  "link",
  "data",
  "created",
]);
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
  const pattern = options.pattern === undefined ? null : compilePattern(options.pattern);
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
  const matches = pattern === null ? null : createMatches(pattern, counts, progress.note);
  const items = eventsOf(lines, matches?.match ?? null, options, unreadTime);
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
  match: Match | null,
  options: ShipOptions,
  unreadTime: (time: string) => void,
): AsyncGenerator<Item> {
  for await (const line of lines) {
    if (line.trim() !== "") yield { line, json: JSON.stringify(eventOf(line, match, options, unreadTime)) };
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

function compilePattern(text: string): RegExp {
  const names = [...text.matchAll(/\(\?<([A-Za-z_$][\w$]*)>/g)].map(([, name]) => name ?? "");
  const strange = names.find((name) => !FIELDS.has(name));
  if (strange !== undefined)
    throw new CommandError(`--pattern names a group ${strange}; groups can be ${[...FIELDS].join(", ")}`);
  if (names.length === 0)
    throw new CommandError("--pattern has no named group, such as (?<text>.*), that could become a field");
  try {
    return new RegExp(text, "u");
  } catch (error) {
    throw new CommandError(`--pattern is no regular expression: ${(error as Error).message}`, { cause: error });
  }
}

/** The named groups of a line; none where it does not match. */
type Match = (line: string) => Readonly<Record<string, string | undefined>>;

/** Matches lines, and notices a pattern that matches none: its author meant other lines. */
function createMatches(pattern: RegExp, counts: ShipCounts, note: (text: string) => void) {
  let lines = 0;
  let matched = 0;
  const say = (): void =>
    note(`loggia: --pattern matched none of ${lines === 1 ? "1 line" : `${lines} lines`}; whole lines become texts`);
  return {
    match: ((line) => {
      lines += 1;
      const found = pattern.exec(line);
      if (found !== null) matched += 1;
      if (lines === UNMATCHED_LINES && matched === 0) say();
      return found?.groups ?? {};
    }) satisfies Match,
    end: () => {
      counts.isUnmatched = lines > 0 && matched === 0;
      if (counts.isUnmatched && lines !== UNMATCHED_LINES) say();
    },
  };
}

/** The fields of the event that a line becomes. */
function eventOf(
  line: string,
  match: Match | null,
  options: Pick<ShipOptions, "tags" | "source" | "user" | "cut" | "data">,
  unreadTime: (time: string) => void,
): Record<string, string | number> {
  const event: Record<string, string | number> = {};
  for (const name of ["tags", "source", "user"] as const) {
    const value = options[name];
    if (value !== undefined && value !== "") event[name] = value;
  }
  const { created, ...groups } = match?.(line) ?? {};
  for (const [name, value] of Object.entries(groups)) if (value !== undefined && value !== "") event[name] = value;
  if (created !== undefined && created !== "") {
    const moment_ms = readTime(created, Date.now());
    // The service takes none before 1970.
    if (moment_ms !== null && moment_ms >= 0) event["created"] = moment_ms;
    else unreadTime(created);
  }
  const text = String(event["text"] ?? line);
  event["text"] = options.cut > 0 ? firstCharacters(text, options.cut) : text;
  if (event["text"] !== text && !("data" in event)) event["data"] = firstCharacters(line, options.data);
  return event;
}
