import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { firstCharacters } from "../events/text.ts";
import { DECOMPRESSION_MAX_RATIO } from "../http/body.ts";
import { parseBase } from "./addresses.ts";
import { batchesOf } from "./batches.ts";
import { followFile, readFileLines, readLines } from "./lines.ts";
import { CommandError, createSender, messageOf, type Sender } from "./request.ts";
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
  /** How long a batch is tried again before its lines count as failed. */
  readonly patience_s: number;
};

/** `unread`: files that could not be read, or not to their end. */
export type ShipCounts = { posted: number; failed: number; retried: number; unread: number };

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
/** Smaller bodies fit a few packets anyway. */
const ZIP_BYTES = 4_096;
const FIRST_BACKOFF_MS = 100;
const LAST_BACKOFF_MS = 5_000;
const PROGRESS_MS = 200;
/** Faults shown one by one; the rest are only counted. */
const SHOWN_FAULTS = 10;

const zip = promisify(gzip);

/** A line, and the JSON of its event. */
type Item = { readonly line: string; readonly json: string };

/**
 * Posts each line of the files (of standard input where there are none) as an event, many in one request, until they end or `signal` fires.
 * A batch is retried while the service is busy or away; then its lines, and each line that the service refuses, count as failed.
 * A file that can't be read is told, and those after it are posted.
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
  const counts: ShipCounts = { posted: 0, failed: 0, retried: 0, unread: 0 };
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
  const lines = allLines(files, options, terminal, {
    signal: AbortSignal.any([signal, stop.signal]),
    unreadable,
  });
  const items = eventsOf(lines, pattern, options, unreadTime);
  try {
    for await (const batch of batchesOf(items, ({ json }) => Buffer.byteLength(json) + 1, BATCH_BOUNDS)) {
      const post = postBatch(batch, { sender, url, options, counts, fail, signal })
        .catch((error: unknown) => {
          given_up.push(asCommandError(error));
          stop.abort();
        })
        .finally(() => running.delete(post));
      running.add(post);
      if (running.size >= options.inFlight) await Promise.race(running);
      if (given_up.length > 0) break;
    }
  } finally {
    await Promise.all(running);
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
  pattern: RegExp | null,
  options: ShipOptions,
  unreadTime: (time: string) => void,
): AsyncGenerator<Item> {
  for await (const line of lines) {
    if (line.trim() !== "") yield { line, json: JSON.stringify(eventOf(line, pattern, options, unreadTime)) };
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
      yield* readLines(terminal.stdin);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return;
  }
  if (options.follow === true && files.length > 1)
    throw new CommandError("--follow takes one file; start one command for each");
  for (const file of files) {
    if (signal.aborted) return;
    try {
      for await (const line of options.follow === true ? followFile(file, signal) : readFileLines(file)) {
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

/** The fields of the event that a line becomes. */
function eventOf(
  line: string,
  pattern: RegExp | null,
  options: Pick<ShipOptions, "tags" | "source" | "user" | "cut" | "data">,
  unreadTime: (time: string) => void,
): Record<string, string | number> {
  const event: Record<string, string | number> = {};
  for (const name of ["tags", "source", "user"] as const) {
    const value = options[name];
    if (value !== undefined && value !== "") event[name] = value;
  }
  const { created, ...groups } = pattern?.exec(line)?.groups ?? {};
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

type Posting = {
  readonly sender: Sender;
  readonly url: URL;
  readonly options: ShipOptions;
  readonly counts: ShipCounts;
  readonly fail: (line: string, why: string) => void;
  readonly signal: AbortSignal;
};

async function postBatch(batch: readonly Item[], posting: Posting): Promise<void> {
  const { sender, url, options, counts, fail, signal } = posting;
  const message = await messageFor(batch, options.key);
  const until_ms = performance.now() + options.patience_s * 1000;
  for (let backoff_ms = FIRST_BACKOFF_MS; ; backoff_ms = Math.min(backoff_ms * 2, LAST_BACKOFF_MS)) {
    const outcome = await attempt(sender, url, message);
    if (outcome.kind === "taken") {
      for (const [i, { line }] of batch.entries()) {
        const fault = outcome.faults[i] === undefined ? NO_OUTCOME : outcome.faults[i];
        if (fault === null) counts.posted += 1;
        else fail(line, fault);
      }
      return;
    }
    const wait_ms =
      outcome.kind === "refused"
        ? Infinity
        : Math.max(backoff_ms * (0.5 + Math.random() / 2), outcome.retryAfter_ms ?? 0);
    if (signal.aborted || performance.now() + wait_ms > until_ms) {
      for (const { line } of batch) fail(line, outcome.why);
      return;
    }
    counts.retried += 1;
    await delay(wait_ms, undefined, { signal }).catch(() => {});
  }
}

type Message = { readonly method: "POST"; readonly headers: Record<string, string>; readonly body: Buffer };

/** The request that posts a batch, with a key that all its attempts share; compressed where that makes it smaller. */
async function messageFor(batch: readonly Item[], apiKey: string): Promise<Message> {
  const plain = Buffer.from(batch.map(({ json }) => json).join("\n"));
  const zipped = plain.length < ZIP_BYTES ? plain : await zip(plain, { level: 1 });
  // The service refuses what is compressed beyond that ratio.
  const pays = zipped.length < plain.length && plain.length <= zipped.length * DECOMPRESSION_MAX_RATIO;
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    "Content-Type": "application/x-ndjson",
    "Idempotency-Key": randomUUID(),
    ...(pays && { "Content-Encoding": "gzip" }),
  };
  return { method: "POST", headers, body: pays ? zipped : plain };
}

/** Of a batch without any event the service shows the first faults alone. */
const NO_OUTCOME = "the service took no line of the batch";

type Outcome =
  /** `faults`: of each line, in order; null where it was posted. */
  | { readonly kind: "taken"; readonly faults: readonly (string | null)[] }
  | { readonly kind: "busy"; readonly why: string; readonly retryAfter_ms: number | null }
  | { readonly kind: "refused"; readonly why: string };

async function attempt(sender: Sender, url: URL, message: Message): Promise<Outcome> {
  try {
    const reply = await sender.send(url, message);
    if (reply.status === 201) {
      const { items } = JSON.parse(reply.body) as { items: { error?: { message: string } }[] };
      return { kind: "taken", faults: items.map(({ error }) => error?.message ?? null) };
    }
    const why = `${reply.status} ${messageOf(reply.body)}`;
    if (reply.status === 401 || reply.status === 403) throw new CommandError(`The service refuses the key: ${why}`);
    if (reply.status === 429 || reply.status >= 500) return { kind: "busy", why, retryAfter_ms: reply.retryAfter_ms };
    return { kind: "refused", why };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    return { kind: "busy", why: (error as Error).message, retryAfter_ms: null };
  }
}

function showProgress(counts: ShipCounts, stderr: NodeJS.WriteStream) {
  const started_ms = performance.now();
  const line = (): string => {
    const perSecond = counts.posted / Math.max((performance.now() - started_ms) / 1000, 0.001);
    return `posted ${counts.posted}, failed ${counts.failed}, retried ${counts.retried}, ${perSecond.toFixed(0)}/s`;
  };
  const erase = stderr.isTTY ? "\r\u001b[K" : "";
  const timer = stderr.isTTY ? setInterval(() => stderr.write(`${erase}${line()}`), PROGRESS_MS) : null;
  return {
    note: (text: string) => stderr.write(`${erase}${text}\n`),
    close: () => {
      if (timer !== null) clearInterval(timer);
      stderr.write(erase);
    },
  };
}
