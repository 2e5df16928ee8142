import { readContainerLine } from "./container-lines.ts";
import type { ContainerForm, ContainerLine, ContainerText } from "./container-lines.ts";
import { type FileEncoding, LINE_MAX_BYTES, LineSplitter } from "./lines.ts";

/** A line, or several lines that form one record. */
export type TextRecord = {
  readonly text: string;
  /** Metadata that a container's runtime wrote with the text. */
  readonly container: ContainerLine | null;
};

/** How bytes are split into records. */
export type Framing = {
  /** Matches the first line of a record; other lines continue it. null: no grouping. */
  readonly start: RegExp | null;
  /** How a container's runtime wrote the lines; null: they are those of the program itself. */
  readonly container: ContainerForm | null;
  /** How long after its last byte an unfinished record ends. */
  readonly wait_ms: number;
};

/** Default of `--multiline-wait`, in seconds. */
export const MULTILINE_WAIT_S = 5;

export const PLAIN_LINES: Framing = { start: null, container: null, wait_ms: MULTILINE_WAIT_S * 1_000 };

export type FrameOptions = {
  readonly encoding: FileEncoding;
  /** Whether the bytes start a file, where a byte order mark is skipped. */
  readonly isFirst: boolean;
  /** Whether the bytes start inside a line that was cut, whose rest is skipped. */
  readonly isWithin: boolean;
  /** Unfinished data that becomes records: none, groups of whole lines, or the last line too. */
  readonly flush: "nothing" | "groups" | "all";
  /** Whether zero bytes at the end are followed by others. */
  readonly isHoleClosed: boolean;
  /** Records after which framing stops. More may come at once if an earlier one kept them back. */
  readonly mostRecords: number;
};

export type FrameResult = {
  readonly records: readonly TextRecord[];
  /** Bytes that the caller can drop. */
  readonly consumed: number;
  /** Whether the consumed bytes end inside a line that was cut. */
  readonly isWithin: boolean;
};

/** Returns whether a record may have several lines, so that its end shows only with the next one. */
export function hasGroups({ start, container }: Framing): boolean {
  return start !== null || container !== null;
}

/** Splits bytes into records. */
export function frame(bytes: Buffer, framing: Framing, options: FrameOptions): FrameResult {
  const isLast = options.flush === "all";
  const lines = new LineSplitter(bytes, { ...options, isLast });
  let at = 0;
  if (options.isWithin) {
    const next = lines.skipRest();
    if (next === null) return { records: [], consumed: bytes.length, isWithin: !isLast };
    at = next;
  }
  const grouping = new Grouping(framing);
  let isCut = false;
  while (grouping.records.length < options.mostRecords && at < bytes.length) {
    const line = lines.lineAt(at);
    if (line === null) break;
    if (line.text !== null) grouping.add(line.text, at, line.end);
    at = line.end;
    isCut = !line.isEnded;
    if (isCut) break;
  }
  if (options.flush !== "nothing" && grouping.records.length < options.mostRecords) grouping.end();
  const consumed = grouping.firstOpen ?? at;
  return { records: grouping.records, consumed, isWithin: isCut && !isLast && consumed === at };
}

/** A record in the making. `hasParts`: its last line is the first part of a longer one. */
type Open = {
  readonly begin: number;
  readonly stream: string;
  readonly container: ContainerLine | null;
  readonly texts: string[];
  hasParts: boolean;
  isClosed: boolean;
};

/**
 * Joins the lines of each stream into records: first the parts of a container's line, then lines by
 * `start`. Records come in the order of their first lines, so one that is open keeps later ones of
 * other streams back: all bytes before a position are then in records.
 */
class Grouping {
  readonly records: TextRecord[] = [];
  readonly #framing: Framing;
  readonly #queue: Open[] = [];
  readonly #open = new Map<string, Open>();

  constructor(framing: Framing) {
    this.#framing = framing;
  }

  /** Offset of the first record that is not finished; null if all are. */
  get firstOpen(): number | null {
    return this.#queue[0]?.begin ?? null;
  }

  add(text: string, begin: number, end: number): void {
    const { container } = this.#framing;
    if (!hasGroups(this.#framing)) {
      this.records.push({ text, container: null });
      return;
    }
    const parsed = container === null ? null : readContainerLine(text, container);
    this.#append(parsed ?? { text, container: null, isWhole: true }, begin);
    // The bytes of an open record are read again and again.
    const first = this.#queue[0];
    if (first !== undefined && end - first.begin >= LINE_MAX_BYTES) this.#close(first);
    this.#release();
  }

  #append({ text, container, isWhole }: ContainerText, begin: number): void {
    const { start } = this.#framing;
    const stream = container?.stream ?? "";
    let open = this.#open.get(stream);
    if (open?.hasParts === true) open.texts.push(open.texts.pop()! + text);
    else {
      if (open !== undefined && (start === null || start.test(text))) {
        this.#close(open);
        open = undefined;
      }
      if (open === undefined) {
        open = { begin, stream, container, texts: [], hasParts: false, isClosed: false };
        this.#open.set(stream, open);
        this.#queue.push(open);
      }
      open.texts.push(text);
    }
    open.hasParts = !isWhole;
    if (isWhole && start === null) this.#close(open);
  }

  /** Closes all records. */
  end(): void {
    for (const open of this.#open.values()) this.#close(open);
    this.#release();
  }

  #close(open: Open): void {
    open.isClosed = true;
    this.#open.delete(open.stream);
  }

  #release(): void {
    while (this.#queue[0]?.isClosed === true) {
      const { texts, container } = this.#queue.shift()!;
      this.records.push({ text: texts.join("\n"), container });
    }
  }
}
