import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";

import { ArchiveError } from "../archive-error.ts";
import { unpack } from "../archives.ts";
import { CommandError } from "../request.ts";
import type { WriteEvents } from "./events.ts";
import { createContainers, DOCKER_FOLDER } from "./docker.ts";
import { readFiles } from "./files.ts";
import { type Framing, MULTILINE_WAIT_S, type TextRecord } from "./framing.ts";
import type { Item } from "./item.ts";
import { readJournal } from "./journal.ts";
import type { Position, ShipState } from "./state.ts";
import { readStreamRecords } from "./streams.ts";

export type SourceOptions = {
  readonly follow?: boolean;
  /** Regular expression that matches the first line of each event of several lines. */
  readonly multilineStart?: string;
  /** How long after its last byte such an event ends, in seconds. */
  readonly multilineWait?: number;
  /** Whether to read systemd's journal; the words are then arguments of journalctl. */
  readonly journal?: boolean;
  /** Folders that symbolic links may lead to, beside those that are named. */
  readonly linksTo?: readonly string[];
  /** Folder of Docker's containers; true for Docker's default. */
  readonly docker?: string | true;
};

/** Events, and the position after them; null for sources without positions. */
export type Piece = { readonly items: readonly Item[]; readonly position: Position | null };

export type Reading = {
  readonly state: ShipState;
  readonly stdin: NodeJS.ReadStream;
  readonly signal: AbortSignal;
  readonly write: WriteEvents;
  readonly unreadable: (file: string, error: Error) => void;
  readonly resumed: (files: number) => void;
};

/** Yields the events of all sources of a command. */
export function readPieces(words: readonly string[], options: SourceOptions, reading: Reading): AsyncIterable<Piece> {
  if (options.journal === true) {
    if (options.docker !== undefined) throw new CommandError("--journal and --docker exclude each other");
    return journalPieces(words, options, reading);
  }
  const { docker, multilineWait = MULTILINE_WAIT_S } = options;
  const framing = { start: startOf(options), isDocker: docker !== undefined, wait_ms: multilineWait * 1_000 };
  if (docker !== undefined) {
    if (words.length > 0) throw new CommandError("--docker takes a folder and no other files");
    const folder = docker === true ? DOCKER_FOLDER : docker;
    return filePieces([`${folder}/*/*-json.log*`], { options, framing }, reading);
  }
  return words.length === 0 ? inputPieces(framing, reading) : filePieces(words, { options, framing }, reading);
}

function startOf({ multilineStart: text }: SourceOptions): RegExp | null {
  if (text === undefined) return null;
  try {
    return new RegExp(text, "u");
  } catch (error) {
    throw new CommandError(`--multiline-start is not a valid regular expression: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

type FramedOptions = { readonly options: SourceOptions; readonly framing: Framing };

async function* filePieces(
  words: readonly string[],
  { options, framing }: FramedOptions,
  reading: Reading,
): AsyncGenerator<Piece> {
  const { state, signal, unreadable, resumed, write } = reading;
  const files: string[] = [];
  for (const word of words) {
    // Pipes and devices are read once and have no position.
    if (await isStream(word)) yield* streamPieces(word, framing, reading);
    else files.push(word);
    if (signal.aborted) return;
  }
  if (files.length === 0) return;
  const containerOf = createContainers();
  const { follow: isFollowed = false, linksTo = [] } = options;
  const read = { isFollowed, linksTo, framing, state, signal, unreadable, resumed };
  for await (const { records, position, path } of readFiles(files, read)) {
    const items: Item[] = [];
    for (const { text, docker } of records) {
      if (text.trim() === "") continue;
      const events = framing.isDocker ? write(text, await containerOf(path, docker)) : write(text);
      for (const json of events) items.push({ line: text, json });
    }
    yield { items, position };
  }
}

async function isStream(path: string): Promise<boolean> {
  const there = await stat(path).catch(() => null);
  return there !== null && !there.isFile() && !there.isDirectory();
}

async function* streamPieces(
  path: string,
  framing: Framing,
  { write, unreadable, signal }: Reading,
): AsyncGenerator<Piece> {
  try {
    const chunks = unpack(createReadStream(path, { signal }), path);
    for await (const records of readStreamRecords(chunks, framing))
      yield { items: itemsOf(records, write), position: null };
  } catch (error) {
    if (!signal.aborted) unreadable(path, error as Error);
  }
}

async function* inputPieces(framing: Framing, { stdin, write, unreadable, signal }: Reading): AsyncGenerator<Piece> {
  signal.addEventListener("abort", () => stdin.destroy(), { once: true });
  try {
    for await (const records of readStreamRecords(unpack(stdin), framing)) {
      yield { items: itemsOf(records, write), position: null };
    }
  } catch (error) {
    if (error instanceof ArchiveError) unreadable("standard input", error);
    else if (!signal.aborted) throw error;
  }
}

function itemsOf(records: readonly TextRecord[], write: WriteEvents): Item[] {
  const filled = records.filter(({ text }) => text.trim() !== "");
  return filled.flatMap(({ text }) => write(text).map((json) => ({ line: text, json })));
}

async function* journalPieces(
  more: readonly string[],
  { follow = false }: SourceOptions,
  { state, signal, write }: Reading,
): AsyncGenerator<Piece> {
  for await (const { entries, position } of readJournal(more, { state, isFollowed: follow, signal })) {
    const items = entries.flatMap(({ text, metadata }) => write(text, metadata).map((json) => ({ line: text, json })));
    yield { items, position };
  }
}
