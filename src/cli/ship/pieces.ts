import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";

import { ArchiveError } from "../archive-error.ts";
import { unpack } from "../archives.ts";
import { CommandError } from "../request.ts";
import type { WriteEvents } from "./events.ts";
import { createContainers, DOCKER_FOLDER, KUBERNETES_FOLDER } from "./containers.ts";
import type { ContainerForm } from "./container-lines.ts";
import { readFiles } from "./files.ts";
import { CRI_FORMAT, LINE_FORMATS } from "./formats.ts";
import { type Framing, MULTILINE_WAIT_S, type TextRecord } from "./framing.ts";
import type { ShippedLine } from "./item.ts";
import { readJournal } from "./journal.ts";
import type { ShipPosition, ShipState } from "./state.ts";
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
  /** Folder of Kubernetes' containers; true for the usual one. */
  readonly kubernetes?: string | true;
  /** Name of a format of lines, of which events may have several, or a container's. */
  readonly format?: string;
};

/** Events, and the position after them; null for sources without positions. */
export type ShipPiece = { readonly items: readonly ShippedLine[]; readonly position: ShipPosition | null };

export type ShipReading = {
  readonly state: ShipState;
  readonly stdin: NodeJS.ReadStream;
  readonly signal: AbortSignal;
  readonly write: WriteEvents;
  readonly unreadable: (file: string, error: Error) => void;
  readonly resumed: (files: number) => void;
};

/** Yields the events of all sources of a command. */
export function readPieces(
  words: readonly string[],
  options: SourceOptions,
  reading: ShipReading,
): AsyncIterable<ShipPiece> {
  const { journal = false, multilineWait = MULTILINE_WAIT_S } = options;
  const container = containerFormOf(options);
  if (journal) {
    if (container !== null) throw new CommandError("--journal and files of containers exclude each other");
    return journalPieces(words, options, reading);
  }
  const framing = { start: startOf(options), container, wait_ms: multilineWait * 1_000 };
  const folder = folderOfContainers(options);
  if (folder !== null && words.length > 0) throw new CommandError(`${folder.option} takes a folder and no other files`);
  const named = folder === null ? words : [folder.glob];
  return named.length === 0 ? inputPieces(framing, reading) : filePieces(named, { options, framing }, reading);
}

function containerFormOf({ docker, kubernetes, format }: SourceOptions): ContainerForm | null {
  const isCri = kubernetes !== undefined || format === CRI_FORMAT;
  if (docker !== undefined && isCri) throw new CommandError("--docker excludes --kubernetes and --format cri");
  return docker === undefined ? (isCri ? "cri" : null) : "docker";
}

/** Returns the folder of containers that an option names, as a glob of the files to read. */
function folderOfContainers({ docker, kubernetes }: SourceOptions): { option: string; glob: string } | null {
  if (docker !== undefined) {
    return { option: "--docker", glob: `${docker === true ? DOCKER_FOLDER : docker}/*/*-json.log*` };
  }
  if (kubernetes === undefined) return null;
  const folder = kubernetes === true ? KUBERNETES_FOLDER : kubernetes;
  // Rotated files end with their time, or with gz. Others, such as *.tmp, are not finished.
  return { option: "--kubernetes", glob: `${folder}/**/*.{log,log.*[0-9z]}` };
}

export function startOf({ multilineStart: text, format = "" }: SourceOptions): RegExp | null {
  if (text === undefined) return LINE_FORMATS.get(format)?.start ?? null;
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
  reading: ShipReading,
): AsyncGenerator<ShipPiece> {
  const { state, signal, unreadable, resumed, write } = reading;
  const files: string[] = [];
  for (const word of words) {
    // Pipes and devices are read once and have no position.
    if (await isStream(word)) yield* streamPieces(word, framing, reading);
    else files.push(word);
    if (signal.aborted) return;
  }
  if (files.length === 0) return;
  const { follow: isFollowed = false, linksTo = [] } = options;
  const read = { isFollowed, linksTo, framing, state, signal, unreadable, resumed };
  const itemsOf = itemWriter(framing, write);
  for await (const { records, position, path } of readFiles(files, read)) {
    yield { items: await itemsOf(records, path), position };
  }
}

async function isStream(path: string): Promise<boolean> {
  const there = await stat(path).catch(() => null);
  return there !== null && !there.isFile() && !there.isDirectory();
}

async function* streamPieces(
  path: string,
  framing: Framing,
  { write, unreadable, signal }: ShipReading,
): AsyncGenerator<ShipPiece> {
  try {
    const itemsOf = itemWriter(framing, write);
    const chunks = unpack(createReadStream(path, { signal }), path);
    for await (const records of readStreamRecords(chunks, framing))
      yield { items: await itemsOf(records, ""), position: null };
  } catch (error) {
    if (!signal.aborted) unreadable(path, error as Error);
  }
}

async function* inputPieces(
  framing: Framing,
  { stdin, write, unreadable, signal }: ShipReading,
): AsyncGenerator<ShipPiece> {
  signal.addEventListener("abort", () => stdin.destroy(), { once: true });
  const itemsOf = itemWriter(framing, write);
  try {
    for await (const records of readStreamRecords(unpack(stdin), framing)) {
      yield { items: await itemsOf(records, ""), position: null };
    }
  } catch (error) {
    if (error instanceof ArchiveError) unreadable("standard input", error);
    else if (!signal.aborted) throw error;
  }
}

/** Returns a function that writes the events of records. `path`: of their file; "" for streams. */
function itemWriter({ container }: Framing, write: WriteEvents) {
  const metadataOf = container === null ? null : createContainers(container);
  return async (records: readonly TextRecord[], path: string): Promise<ShippedLine[]> => {
    const items: ShippedLine[] = [];
    for (const { text, container: line } of records) {
      if (text.trim() === "") continue;
      const metadata = metadataOf === null ? undefined : await metadataOf(path, line);
      for (const json of write(text, metadata)) items.push({ line: text, json });
    }
    return items;
  };
}

async function* journalPieces(
  more: readonly string[],
  { follow = false }: SourceOptions,
  { state, signal, write }: ShipReading,
): AsyncGenerator<ShipPiece> {
  for await (const { entries, position } of readJournal(more, { state, isFollowed: follow, signal })) {
    const items = entries.flatMap(({ text, metadata }) => write(text, metadata).map((json) => ({ line: text, json })));
    yield { items, position };
  }
}
