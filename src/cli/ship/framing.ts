/** Longest line; longer ones are cut. It bounds the memory for files without line breaks. */
export const LINE_MAX_BYTES = 1024 * 1024;

/** A line, or several lines that form one record. */
export type TextRecord = {
  readonly text: string;
  /** Metadata that Docker wrote with the text. */
  readonly docker: DockerLine | null;
  /** Offset in the bytes just after its line break. */
  readonly end: number;
};

export type DockerLine = {
  readonly stream: string;
  readonly time: string;
  readonly attrs: Readonly<Record<string, string>>;
};

/** How bytes are split into records. */
export type Framing = {
  /** Matches the first line of a record; other lines continue it. null: no grouping. */
  readonly start: RegExp | null;
  /** Whether each line is a JSON object of Docker's json-file driver. */
  readonly isDocker: boolean;
};

export const PLAIN_LINES: Framing = { start: null, isDocker: false };

export type FrameOptions = {
  /** Whether the bytes start a file, where a byte order mark is skipped. */
  readonly isFirst: boolean;
  /** Whether the bytes start inside a line that was cut, whose rest is skipped. */
  readonly isWithin: boolean;
  /** Unfinished data that becomes records: none, groups of whole lines, or the last line too. */
  readonly flush: "nothing" | "groups" | "all";
  readonly mostRecords: number;
};

export type FrameResult = {
  readonly records: readonly TextRecord[];
  /** Bytes that the caller can drop. */
  readonly consumed: number;
  /** Whether the consumed bytes end inside a line that was cut. */
  readonly isWithin: boolean;
};

type Line = { readonly text: string; readonly end: number; readonly isEnded: boolean };

/** Splits bytes into records. */
export function frame(bytes: Buffer, framing: Framing, options: FrameOptions): FrameResult {
  let at = 0;
  if (options.isWithin) {
    at = bytes.indexOf(10) + 1;
    if (at === 0) return { records: [], consumed: bytes.length, isWithin: options.flush !== "all" };
  }
  const records: TextRecord[] = [];
  const groups = createGroups(framing, records);
  let consumed = at;
  while (records.length < options.mostRecords && at < bytes.length) {
    const line = lineAt(bytes, at, options.isFirst && at === 0, options.flush === "all");
    if (line === null) break;
    consumed = Math.max(consumed, groups.add(line, at));
    at = line.end;
    if (!line.isEnded) break;
  }
  if (options.flush !== "nothing" && records.length < options.mostRecords)
    consumed = Math.max(consumed, groups.end(at));
  const isWithin = at > 0 && consumed === at && at === bytes.length && bytes[at - 1] !== 10 && options.flush !== "all";
  return { records, consumed, isWithin };
}

/** Returns the line at an offset; null if it has no line break yet and may still get one. */
function lineAt(bytes: Buffer, at: number, isFirst: boolean, isFlushed: boolean): Line | null {
  const found = bytes.indexOf(10, at);
  const isEnded = found !== -1;
  if (!isEnded && !isFlushed && bytes.length - at < LINE_MAX_BYTES) return null;
  const stop = isEnded ? found : bytes.length;
  const skipped = isFirst && bytes.subarray(at, at + 3).equals(BYTE_ORDER_MARK) ? 3 : 0;
  const isLong = stop - at > LINE_MAX_BYTES;
  const last = isLong ? at + LINE_MAX_BYTES : stop > at && bytes[stop - 1] === 13 ? stop - 1 : stop;
  return { text: bytes.toString("utf8", at + skipped, last), end: isEnded ? stop + 1 : stop, isEnded };
}

const BYTE_ORDER_MARK = Buffer.from("\uFEFF");

type Open = { texts: string[]; size_bytes: number; docker: DockerLine | null; begin: number };

/** Joins lines into records: first the parts of a Docker line, then lines by `start`. */
function createGroups({ start, isDocker }: Framing, records: TextRecord[]) {
  let part: Open | null = null;
  let group: Open | null = null;
  const close = (end: number): number => {
    if (group === null) return 0;
    records.push({ text: group.texts.join("\n"), docker: group.docker, end });
    group = null;
    return end;
  };
  /** Takes a complete line. Returns the offset up to which all lines are in records. */
  const take = (text: string, docker: DockerLine | null, { begin, end }: { begin: number; end: number }): number => {
    if (start === null) {
      records.push({ text, docker, end });
      return end;
    }
    let done = 0;
    if (group !== null && start.test(text)) done = close(begin);
    group ??= { texts: [], size_bytes: 0, docker, begin };
    group.texts.push(text);
    group.size_bytes += end - begin;
    return group.size_bytes >= LINE_MAX_BYTES ? close(end) : done;
  };
  return {
    add({ text, end }: Line, begin: number): number {
      if (!isDocker) return take(text, null, { begin, end });
      const parsed = readDocker(text);
      let done = 0;
      if (part !== null && (parsed === null || parsed.docker.stream !== part.docker?.stream)) {
        done = take(part.texts.join(""), part.docker, { begin: part.begin, end: begin });
        part = null;
      }
      if (parsed === null) return Math.max(done, take(text, null, { begin, end }));
      part ??= { texts: [], size_bytes: 0, docker: parsed.docker, begin };
      part.texts.push(parsed.text);
      part.size_bytes += end - begin;
      if (!parsed.isWhole && part.size_bytes < LINE_MAX_BYTES) return done;
      const whole = part;
      part = null;
      return Math.max(done, take(whole.texts.join(""), whole.docker, { begin: whole.begin, end }));
    },
    end(end: number): number {
      let done = 0;
      if (part !== null) done = take(part.texts.join(""), part.docker, { begin: part.begin, end });
      part = null;
      return Math.max(done, close(end));
    },
  };
}

function readDocker(line: string): { text: string; docker: DockerLine; isWhole: boolean } | null {
  try {
    const { log, stream, time, attrs } = JSON.parse(line) as Record<string, unknown>;
    if (typeof log !== "string") return null;
    const isWhole = log.endsWith("\n");
    const text = isWhole ? log.replace(/\r?\n$/, "") : log;
    const docker = { stream: textOf(stream), time: textOf(time), attrs: isTexts(attrs) ? attrs : {} };
    return { text, docker, isWhole };
  } catch {
    return null;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isTexts(value: unknown): value is Record<string, string> {
  return typeof value === "object" && value !== null && Object.values(value).every((one) => typeof one === "string");
}
