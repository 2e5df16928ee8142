import { resolve } from "node:path";

import { parseBase } from "./addresses.ts";
import { intoBatches } from "./batches.ts";
import { Deliveries } from "./deliveries.ts";
import { createOutage } from "./outage.ts";
import { encodeBatchBody, readBatchItems } from "./post-batch.ts";
import { type ShipCounts, showProgress } from "./progress.ts";
import { createSender } from "./request.ts";
import { eventWriter, lineReader } from "./ship/events.ts";
import type { EventOptions, LineReader, ReadLine } from "./ship/events.ts";
import { FormatHint } from "./ship/format-hint.ts";
import { readTimeOptions } from "./ship/times.ts";
import { type ShipPiece, readPieces, type SourceOptions } from "./ship/pieces.ts";
import { type ShipPosition, ShipState, stateFolder } from "./ship/state.ts";
import { printable } from "./terminal.ts";

export type ShipOptions = EventOptions &
  SourceOptions & {
    /** Address that accepts posts. */
    readonly post: string;
    readonly log: string;
    readonly key: string;
    /** Most batches in flight. */
    readonly inFlight: number;
    /** How long the service may be unavailable before the run ends, in seconds; may be infinite. */
    readonly patience_s: number;
    /** Folder of the positions; `none` stores none. Default: a folder derived from the command. */
    readonly state?: string;
  };

type Terminal = { readonly stderr: NodeJS.WriteStream; readonly stdin: NodeJS.ReadStream };

/** Items per batch. The bound grows from the first value to the last while batches are full. */
const FIRST_ITEMS = 1_000;
const MOST_ITEMS = 5_000;
const BATCH_BOUNDS = { size_bytes: 1_000_000, age_ms: 200 } as const;
/** Fault of lines that the log will not keep because of their age. */
const EXPIRED = /, older than the \d+ days that the log keeps/;
/** Faults that are printed; further ones are only counted. */
const SHOWN_FAULTS = 10;

/** Lines without a match from the start after which the pattern is reported as wrong. */
const UNMATCHED_LINES = 100;

/**
 * Posts each line of the files, or of standard input, as an event until the input ends or `signal`
 * fires. Batches are retried until Loggia itself stores or refuses them. After `patience_s` the run
 * ends, and the next one first sends the batches that the state keeps. Refused lines count as failed
 * and unreadable files as unread, and the run continues.
 *
 * A batch without a response is retried with the same idempotency key, so no line is duplicated.
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
  const reading = readTimeOptions(options);
  const reader = lineReader(options, reading);
  using state = ShipState.open(folderOf(files, options, url), url.href);
  const counts: ShipCounts = { posted: 0, failed: 0, kept: 0, retried: 0, unread: 0, isUnmatched: false };
  const sender = createSender(options.inFlight);
  const progress = showProgress(counts, terminal.stderr);
  let expired = 0;
  const fail = (line: string, why: string): void => {
    counts.failed += 1;
    if (EXPIRED.test(why)) expired += 1;
    if (counts.failed <= SHOWN_FAULTS) progress.note(`not posted: ${printable(line.slice(0, 80))}: ${printable(why)}`);
  };
  const unreadable = (file: string, error: Error): void => {
    counts.unread += 1;
    progress.note(`loggia: ${printable(`${file} can't be read: ${error.message}`)}`);
  };
  const resumed = (found: number): void =>
    progress.note(
      `loggia: ${found === 1 ? "1 file resumes" : `${found} files resume`} where an earlier run stopped; ` +
        "--state none reads from the start",
    );
  const untimed = countUntimed(progress.note);
  /** Also stops the reader when the service refuses a batch: a followed file may stay silent. */
  const stop = new AbortController();
  const stopped = AbortSignal.any([signal, stop.signal]);
  const matches = reader === null ? null : createMatches(reader, counts, progress.note);
  const hint = reader === null && mayHaveFormat(options) ? new FormatHint(files, progress.note) : null;
  const plainWrite = eventWriter(matches?.read ?? null, options, { onUntimed: untimed.add });
  const write = hint?.watch(plainWrite) ?? plainWrite;
  const source = { state, stdin: terminal.stdin, signal: stopped, write, unreadable, resumed };
  const outage = createOutage({ where: url.origin, patience_s: options.patience_s, note: progress.note });
  const posting = { sender, url, options, counts, fail, outage, signal: stopped, interrupted: signal };
  const deliveries = new Deliveries({ state, posting, stop, note: progress.note });
  const bounds = { ...BATCH_BOUNDS, items: FIRST_ITEMS };
  try {
    for (const batch of state.pending()) {
      if (stopped.aborted) break;
      await deliveries.add(await readBatchItems(batch), () => batch);
    }
    const pieces = stopped.aborted ? [] : intoBatches(readPieces(files, options, source), sizeOf, bounds, countOf);
    for await (const batch of pieces) {
      await deliveries.untilFewerThan(options.inFlight);
      if (stop.signal.aborted) break;
      const items = batch.flatMap((piece) => piece.items);
      const positions = batch.flatMap(({ position }) => (position === null ? [] : [position]));
      if (items.length === 0) state.storePositions(latestOf(positions));
      else {
        const { body, isZipped } = await encodeBatchBody(items);
        void deliveries.add(items, () => state.storeBatch(body, isZipped, latestOf(positions)));
        if (items.length === bounds.items) bounds.items = Math.min(bounds.items * 2, MOST_ITEMS);
      }
    }
  } finally {
    await deliveries.untilFewerThan(1);
    await deliveries.reportUnsent();
    matches?.end();
    hint?.end();
    if (expired > 0) {
      const lines = expired === 1 ? "1 line is" : `${expired} lines are`;
      progress.note(`loggia: ${lines} older than the log keeps events, and not stored; its retention can be changed`);
    }
    if (!counts.isUnmatched) untimed.end();
    progress.close();
    sender.close();
  }
  deliveries.throwFault();
  return counts;
}

/** Returns whether all lines may be of one format, which a hint may name. */
function mayHaveFormat({ journal = false, docker, format }: ShipOptions): boolean {
  return !journal && docker === undefined && format === undefined;
}

function folderOf(files: readonly string[], options: ShipOptions, url: URL): string | null {
  if (options.journal === true) return stateFolder(options.state, url.href, ["--journal", ...files], process.env);
  const { docker, kubernetes } = options;
  const containers = docker === undefined ? ["--kubernetes", String(kubernetes)] : ["--docker", String(docker)];
  const named = docker === undefined && kubernetes === undefined ? files : containers;
  // Standard input cannot be read again.
  if (named.length === 0) return null;
  return stateFolder(
    options.state,
    url.href,
    named.map((word) => resolve(word)),
    process.env,
  );
}

function sizeOf({ items }: ShipPiece): number {
  return items.reduce((sum, { json }) => sum + Buffer.byteLength(json) + 1, 0);
}

function countOf({ items }: ShipPiece): number {
  return items.length;
}

/** Returns the last position of each source. */
function latestOf(positions: readonly ShipPosition[]): ShipPosition[] {
  return [...new Map(positions.map((position) => [position.id, position])).values()];
}

/** Counts matches, and reports a pattern that matches no line: it is probably wrong. */
function createMatches({ fault, read }: LineReader, counts: ShipCounts, note: Note) {
  let lines = 0;
  let matched = 0;
  const report = (): void => {
    if (fault !== null)
      note(`loggia: ${fault} ${lines === 1 ? "1 line" : `${lines} lines`}; whole lines are posted as text`);
  };
  return {
    read: ((line) => {
      lines += 1;
      const parsed = read(line);
      if (parsed !== null) matched += 1;
      if (lines === UNMATCHED_LINES && matched === 0) report();
      return parsed;
    }) satisfies ReadLine,
    end: () => {
      counts.isUnmatched = fault !== null && lines > 0 && matched === 0;
      if (counts.isUnmatched && lines !== UNMATCHED_LINES) report();
    },
  };
}

/** Counts lines without a time in a known form, and reports the first and, in the end, how many there are. */
function countUntimed(note: Note) {
  let lines = 0;
  let isShown = false;
  return {
    add: (text: string | null): void => {
      lines += 1;
      if (text === null || isShown) return;
      isShown = true;
      note(
        `loggia: ${printable(text.slice(0, 80))} is no time in a known form; --time-format says how times are ` +
          "written, --tz which zone they are of",
      );
    },
    end: (): void => {
      if (lines === 0) return;
      const have = lines === 1 ? "1 line has" : `${lines} lines have`;
      note(`loggia: ${have} no time in a known form; the time of their post counts`);
    },
  };
}

type Note = (text: string) => void;
