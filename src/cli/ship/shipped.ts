import { ArchiveError } from "../archive-error.ts";
import { type ByteSource, openBytes } from "./byte-source.ts";
import { Copies, type Originals } from "./copies.ts";
import { FenceError } from "./fence.ts";
import type { Framing } from "./framing.ts";
import { KnownFiles } from "./known-files.ts";
import { fileKey, matches, newMark, type StoredMark } from "./mark.ts";
import { Neighbours } from "./neighbours.ts";
import type { ShipState } from "./state.ts";
import { type FilePiece, TrackedFile } from "./tracked-file.ts";
import { type FoundFile, WordScan } from "./word-scan.ts";

export type FilesOptions = {
  readonly isFollowed: boolean;
  /** Folders that links may lead to, beside those that are named. */
  readonly linksTo: readonly string[];
  readonly framing: Framing;
  readonly state: ShipState;
  readonly signal: AbortSignal;
  readonly unreadable: (path: string, error: Error) => void;
  /** Called once with the number of files that resume where an earlier run stopped. */
  readonly resumed: (files: number) => void;
};

const PIECE_RECORDS = 250;
/** Links out of their folder that are reported; further ones are skipped without a message. */
const SHOWN_LINKS = 10;
/** With more files than this, a file is closed after its turn and reopened for the next. */
const MAX_OPEN = 200;
/** After this time without a change, an archive without an end is read as it is. */
const UNFINISHED_MS = 2_500;

/** What shows whether a file was written to, and how long it counts if it was not. */
type Version = Pick<FoundFile, "size_bytes" | "changed_ns"> & { readonly until_ms?: number };

/** Files of one name, oldest first: an earlier one is read before a later one gets its turn. */
type Lane = TrackedFile[];

/** The files that a command reads: which there are, which of them are one file, and their order. */
export class Shipped implements AsyncDisposable {
  readonly #options: FilesOptions;
  readonly #words: WordScan;
  readonly #known: KnownFiles;
  readonly #copies: Copies;
  readonly #neighbours: Neighbours;
  readonly #lanes = new Map<string, Lane>();
  readonly #active = new Map<string, TrackedFile>();
  /** Files that are not read while they are as they were then: read to their end, or not ours. */
  readonly #settled = new Map<string, Version>();
  /** Files that could not be read at these paths, as they were then. */
  readonly #broken = new Map<string, Version>();
  /** Files that had gone from their path when they were to be opened: what became of them is not known. */
  readonly #moved = new Set<string>();
  readonly #refusedPaths = new Set<string>();
  readonly #resumed = new Set<string>();
  #isFirst = true;
  #wantedCount = 0;
  /** Whether files were rotated since the last scan. */
  needsScan = false;

  constructor(words: readonly string[], options: FilesOptions) {
    this.#options = options;
    this.#words = new WordScan(words, options);
    this.#known = new KnownFiles(options.state);
    this.#copies = new Copies(options);
    this.#neighbours = new Neighbours(this.#known, this.#words);
  }

  /** Whether nothing can follow. */
  get isOver(): boolean {
    return !this.#words.findsMore && !this.#words.hasNamedFiles && this.#active.size === 0;
  }

  /** Looks for files, and decides which of them are read. */
  async scan(): Promise<void> {
    this.needsScan = false;
    this.#moved.clear();
    if (this.#isFirst) this.#neighbours.expectUnread();
    const wanted = await this.#wantedFiles();
    const isLess = wanted.length < this.#wantedCount;
    this.#wantedCount = wanted.length;
    const isNew = this.#isFirst || isLess || wanted.some((file) => !this.#isAsBefore(file));
    const isChanged = this.#neighbours.isExpected || isNew;
    const beside = isChanged ? await this.#neighbours.find(wanted) : [];
    const present = new Map([...beside, ...wanted].map((file) => [fileKey(file), file]));
    await this.#refreshActive(present);
    const unknown: FoundFile[] = [];
    for (const file of [...wanted, ...beside].toSorted(byAge)) {
      if (!this.#isAsBefore(file) && !(await this.#resume(file))) unknown.push(file);
    }
    const originals = { present, removed: new Set([...this.#active.keys()].filter((key) => !present.has(key))) };
    this.#neighbours.noteRotations(unknown, present);
    const fresh = unknown.filter((file) => file.isWanted && !this.#neighbours.isHome(file.path));
    // Whether an archive is a copy shows once the other files are known.
    const archives: FoundFile[] = [];
    for (const file of unknown) if (!(await this.#considerUnknown(file, originals, false))) archives.push(file);
    for (const file of archives) await this.#considerUnknown(file, originals, true);
    for (const { path } of fresh)
      await this.#neighbours.noteOthers(path, (file) => this.#copies.isHeld(file, originals));
    for (const lane of this.#lanes.values()) sortLane(lane);
    if (isChanged) this.#known.refresh(new Set([...present.keys(), ...this.#active.keys()]));
    if (this.#isFirst && this.#resumed.size > 0) this.#options.resumed(this.#resumed.size);
    this.#isFirst = false;
  }

  /** Yields what the files have now, at most `most` pieces of the files of one name. */
  async *readAll(most: number): AsyncGenerator<FilePiece> {
    for (const [name, lane] of this.#lanes) {
      yield* this.#readLane(lane, most);
      if (this.#active.size > MAX_OPEN) for (const file of lane) if (!file.isReplaced) await file.close();
      if (lane.length === 0) this.#lanes.delete(name);
    }
  }

  async *#readLane(lane: Lane, most: number): AsyncGenerator<FilePiece> {
    let count = 0;
    for (let at = 0; at < lane.length && count < most;) {
      const file = lane[at]!;
      const piece = await this.#nextPiece(file);
      if (piece !== null) {
        count += 1;
        yield piece;
      } else if (file.outcome !== null || this.#broken.has(placeOf(file))) {
        lane.splice(at, 1);
        await this.#retire(file);
      } else if (file.isReplaced) {
        // Its last lines come before those of the file that replaced it.
        this.#neighbours.expect(file.home, file.stored);
        this.needsScan ||= !file.isRotationScanned;
        file.isRotationScanned = true;
        return;
      } else at += 1;
    }
  }

  async #nextPiece(file: TrackedFile): Promise<FilePiece | null> {
    try {
      return await file.next(PIECE_RECORDS);
    } catch (error) {
      this.#giveUp(file, error);
      return null;
    }
  }

  async #remove(file: TrackedFile): Promise<void> {
    const lane = this.#lanes.get(file.lane) ?? [];
    lane.splice(lane.indexOf(file), 1);
    await this.#retire(file);
  }

  async #retire(file: TrackedFile): Promise<void> {
    const { key, outcome, stored, source } = file;
    this.#active.delete(key);
    if (outcome === "renewed") {
      this.#known.detach(stored);
      this.#copies.forget(key);
      this.#settled.delete(key);
      this.#neighbours.expect(file.home, file.stored);
    } else if (outcome === "read" || outcome === "idle") {
      const size_bytes = source?.isArchive === false ? await source.size() : null;
      if (size_bytes === null) this.#settled.set(key, file.found);
      else if (size_bytes === stored.mark.position) this.#settled.set(key, { size_bytes, changed_ns: file.changed_ns });
    } else if (outcome === "unfinished") {
      this.#settled.set(key, { ...file.found, until_ms: performance.now() + UNFINISHED_MS });
    }
    const isRotated = file.isReplaced && this.#options.isFollowed;
    if (outcome === "lost") this.#neighbours.expect(file.home, file.stored);
    this.needsScan ||= outcome === "renewed" || outcome === "lost" || isRotated;
    await file.close();
  }

  /** Lists the files that the words name, each once. */
  async #wantedFiles(): Promise<FoundFile[]> {
    const found = new Map<string, FoundFile>();
    for await (const file of this.#words.run()) {
      const other = found.get(fileKey(file));
      const isBetter = other === undefined || this.#broken.has(placeOf(other));
      // The path that an open file is known by is kept.
      if (isBetter || this.#active.get(fileKey(file))?.path === file.path) found.set(fileKey(file), file);
    }
    return [...found.values()];
  }

  /** Whether nothing is to be done about a file: it is open, or did not change. */
  #isAsBefore(file: FoundFile): boolean {
    const key = fileKey(file);
    if (this.#active.has(key) || isVersion(file, this.#broken.get(placeOf(file)))) return true;
    return isVersion(file, this.#settled.get(key));
  }

  async #refreshActive(present: ReadonlyMap<string, FoundFile>): Promise<void> {
    for (const [key, file] of this.#active) {
      const found = present.get(key);
      if (found !== undefined) file.moveTo(found);
      // A copy that was made before the truncation continues what was read.
      if (found !== undefined && (await this.#isRenewed(file, found))) await this.#remove(file);
      else if (file.source !== null && this.#copies.isShort(key)) await this.#copies.note(key, file.source);
    }
  }

  async #isRenewed(file: TrackedFile, found: FoundFile): Promise<boolean> {
    try {
      return await file.isRenewed(found);
    } catch (error) {
      this.#giveUp(file, error);
      return false;
    }
  }

  /** Goes on with a file that has a mark; false if its content has none. */
  async #resume(file: FoundFile): Promise<boolean> {
    const marks = this.#known.at(file);
    if (marks.length === 0) return false;
    return this.#withSource(file, async (source) => {
      for (const stored of marks) {
        const decision = await this.#decideKnown(file, source, stored);
        if (decision !== "unknown") return decision;
      }
      return "unknown";
    });
  }

  /** Decides by one of the marks of the file's inode; `unknown`: it is that of other content. */
  async #decideKnown(file: FoundFile, source: ByteSource, stored: StoredMark): Promise<Decision> {
    const { mark } = stored;
    // Of a file that was not read only its path tells that its inode has not gone to another.
    const isSame =
      mark.position > 0 || mark.isOther === true ? await matches(mark, source) : file.path === stored.source;
    if (mark.isOther === true) {
      if (!file.isWanted && isSame) return "settled";
      this.#known.remove(stored);
      return "unknown";
    }
    const key = fileKey(file);
    if (!isSame) {
      this.#known.detach(stored);
      this.#copies.forget(key);
      if (stored.source === file.path) this.#neighbours.expect(file.path, stored);
      return "unknown";
    }
    await this.#copies.note(key, source);
    if (this.#isFirst) this.#resumed.add(stored.source);
    const isRead = mark.isDone || (!file.isWanted && !source.isArchive && (await source.size()) <= mark.position);
    return isRead ? "settled" : stored;
  }

  /** False if the file is an archive and those are considered later. */
  async #considerUnknown(file: FoundFile, originals: Originals, takesArchives: boolean): Promise<boolean> {
    if (this.#isAsBefore(file) || this.#copies.isHeld(file, originals)) return true;
    const { isFollowed } = this.#options;
    const isEmpty = file.size_bytes === 0;
    // A copy that is being made begins empty.
    if (isEmpty && isFollowed && !this.#isFirst && !this.#neighbours.isHome(file.path)) return true;
    let isLater = false;
    await this.#withSource(file, async (source) => {
      isLater = source.isArchive && !takesArchives;
      return isLater ? "unknown" : this.#identify(file, source, originals);
    });
    return !isLater;
  }

  /** Returns the mark to read a file by; `unknown` if it is held back. */
  async #identify(file: FoundFile, source: ByteSource, originals: Originals): Promise<Decision> {
    // A copy of a file that is there continues no other one.
    if (source.isArchive && (await this.#copies.hold(file, source, originals))) return "unknown";
    const isThere = (key: string): boolean =>
      (originals.present.has(key) && !this.#moved.has(key)) || originals.removed.has(key);
    const continued =
      (await this.#known.renumbered(file, source, isThere)) ?? (await this.#known.continued(source, isThere));
    if (continued !== null && this.#moved.has(fileKey(continued.mark))) {
      // The next scan shows whether that file is still there, or another one has its inode.
      this.needsScan = true;
      return "unknown";
    }
    if (continued !== null) {
      this.#known.move(continued, file);
      this.#neighbours.noteScheme(continued.source, file);
      if (this.#isFirst) this.#resumed.add(continued.source);
      await this.#copies.note(fileKey(file), source);
      return continued;
    }
    if (!source.isArchive && (await this.#known.isReadCopy(source))) {
      await this.#known.addRead(file.path, file, source);
      return "settled";
    }
    const mayBeCopy = !source.isArchive && !this.#isFirst;
    if (mayBeCopy && (await this.#copies.hold(file, source, originals))) return "unknown";
    const home = file.isWanted ? file.path : this.#neighbours.homeOf(file);
    if (home === null) return this.#neighbours.mayBeGeneration(file) ? "unknown" : "settled";
    await this.#copies.note(fileKey(file), source);
    return this.#known.add(home, newMark(file));
  }

  /** Opens a file, and tracks it if there is a mark to read it by. False: it is unknown. */
  async #withSource(file: FoundFile, decide: (source: ByteSource) => Promise<Decision>): Promise<boolean> {
    const source = await this.#open(file);
    if (source === null) return true;
    let isKept = false;
    try {
      const decided = await decide(source);
      if (decided === "unknown") return false;
      if (decided === "settled") return this.#settle(file);
      this.#track(file, decided, source);
      isKept = true;
      return true;
    } catch (error) {
      this.#giveUp(file, error);
      return true;
    } finally {
      if (!isKept) await source[Symbol.asyncDispose]();
    }
  }

  #settle(file: FoundFile): true {
    this.#settled.set(fileKey(file), file);
    return true;
  }

  #track(found: FoundFile, stored: StoredMark, source: ByteSource): void {
    const file = new TrackedFile(found, stored, source, this.#options);
    this.#active.set(file.key, file);
    const lane = this.#lanes.get(file.lane) ?? [];
    lane.push(file);
    this.#lanes.set(file.lane, lane);
  }

  async #open(file: FoundFile): Promise<ByteSource | null> {
    let source: ByteSource | null = null;
    try {
      source = await openBytes(file.path, file.fence);
      // An archive may open and still be unreadable, so read a byte of it.
      await source.read(0, 1);
      const fault = source.fault();
      const isUnfinished = fault instanceof ArchiveError && fault.isTruncated && this.#options.isFollowed;
      if (fault !== null && !isUnfinished && (await source.size()) === 0) throw fault;
      if (fileKey(source) === fileKey(file)) return source;
    } catch (error) {
      this.#giveUp(file, error);
    }
    // It was renamed since the folder was listed. The next scan finds it.
    this.#moved.add(fileKey(file));
    await source?.[Symbol.asyncDispose]();
    return null;
  }

  #giveUp(file: FoundFile | TrackedFile, error: unknown): void {
    if (!isFileError(error)) throw error;
    if (error.code === "ENOENT") return;
    this.#broken.set(placeOf(file), "found" in file ? file.found : file);
    // Files beside the named ones are not to be read, unless they are generations of them.
    if (!("found" in file) && !file.isWanted && !this.#neighbours.mayBeGeneration(file)) return;
    if (error instanceof FenceError) {
      // Once, as a link may be changed over and over; and many could fill the terminal.
      if (this.#refusedPaths.has(file.path) || this.#refusedPaths.size >= SHOWN_LINKS) return;
      this.#refusedPaths.add(file.path);
    }
    this.#options.unreadable(file.path, error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const file of this.#active.values()) await file.close();
  }
}

/** The mark by which a file is read, or that it is not read as it is now, or not known yet. */
type Decision = StoredMark | "settled" | "unknown";

function isVersion(file: FoundFile, version: Version | undefined): boolean {
  if (version?.size_bytes !== file.size_bytes || version.changed_ns !== file.changed_ns) return false;
  return version.until_ms === undefined || performance.now() < version.until_ms;
}

const BY_NUMBER = new Intl.Collator("en", { numeric: true });

/** Orders files by their last change; of those changed at once, higher numbers are older. */
function byAge(a: FoundFile, b: FoundFile): number {
  if (a.changed_ns !== b.changed_ns) return a.changed_ns < b.changed_ns ? -1 : 1;
  return BY_NUMBER.compare(b.path, a.path);
}

function sortLane(lane: Lane): void {
  lane.sort((a, b) => {
    if (a.isStarted !== b.isStarted) return a.isStarted ? -1 : 1;
    if (a.isStarted) return 0;
    return a.found.changed_ns === b.found.changed_ns ? a.stored.id - b.stored.id : byAge(a.found, b.found);
  });
}

function placeOf(file: { readonly path: string } & ({ readonly key: string } | FoundFile)): string {
  return `${"key" in file ? file.key : fileKey(file)} ${file.path}`;
}

type FileError = Error & { readonly code: string };

function isFileError(error: unknown): error is FileError {
  if (error instanceof ArchiveError || error instanceof FenceError) return true;
  return error instanceof Error && "code" in error && "syscall" in error;
}
