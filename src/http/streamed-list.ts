import { CONTENT_TYPES, escapeLines, wrapJsonp } from "./formats.ts";
import type { Format } from "./formats.ts";
import type { Streamed } from "./streamed.ts";
import { Yielder } from "../scheduling/yielding.ts";
import { renderXml, XML_DECLARATION } from "./xml.ts";
import type { XmlValue } from "./xml.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

/** A response that is already encoded. */
export type EncodedBody = { readonly contentType: string; readonly payload: Buffer };

/**
 * A list that may be long: its length, and a function that renders a range of it. In XML each
 * record is an element of this name in `results`.
 */
export type LongList = {
  readonly length: number;
  readonly element: string;
  readonly show: (from: number, to: number) => readonly { readonly [field: string]: XmlValue }[];
  /** Renders a range for XML, if it differs. */
  readonly showAsXml?: LongList["show"];
  /** Writes a record as JSON, if not as the fields that `show` returns. */
  readonly writeAsJson?: (index: number) => string;
  /** Writes a record as XML in parts, if it may be many times larger there. */
  readonly writeAsXml?: (index: number) => Iterable<string>;
  /** Whether records may be so large that each is a step of its own. */
  readonly isOfLargeRecords?: boolean;
};

/** Nested lists: each is an object of a head and, in `field`, its records. */
export type NestedLists = {
  readonly element: string;
  readonly field: string;
  readonly lists: readonly { readonly head: { readonly [field: string]: XmlValue }; readonly list: LongList }[];
};

/** Records written without yielding to other requests, at most. */
const CHUNK_RECORDS = 250;
/** Records rendered together, unless they are large. */
const STEP_RECORDS = 10;
/** Units of text from which on it is encoded. */
const PIECE_UNITS = 256 * 1024;
/** Bytes from which on a list of large records is sent in pieces, so that they are not all held. */
export const WHOLE_BYTES = 16 * 1024 * 1024;
/** Lists of up to this many records do not queue behind others. */
const SHORT_RECORDS = 1000;

/**
 * Writes a long list in pieces, and long lists one after the other, so that other requests are
 * answered meanwhile. Written at once, a list of a hundred thousand records would block the process
 * for seconds.
 *
 * @param isWanted whether the client still waits; if not, the rest is omitted
 */
export async function writeLong(
  format: Format,
  given: LongList,
  isWanted: () => boolean,
  scheduler: Scheduler,
): Promise<EncodedBody> {
  const list = format.kind === "xml" ? { ...given, show: given.showAsXml ?? given.show } : given;
  const syntax = syntaxOf(format, list);
  return await write(format, list.length, scheduler, async (pieces) => {
    for await (const piece of listPieces(syntax, list, isWanted, scheduler)) pieces.push(Buffer.from(piece));
  });
}

/** How a list of large records is written. */
export type Writing = {
  readonly isWanted: () => boolean;
  /** Called with the bytes held, before they grow. May throw. */
  readonly hold: (size_bytes: number) => void;
  readonly scheduler: Scheduler;
};

/** Writes a list of large records as a whole, or, from {@link WHOLE_BYTES} on, while it is read. */
export async function writeLarge(
  format: Format,
  list: LongList,
  { isWanted, hold, scheduler }: Writing,
): Promise<EncodedBody | Streamed> {
  const contentType = CONTENT_TYPES[format.kind];
  const written = listPieces(syntaxOf(format, list), list, isWanted, scheduler);
  const held: Buffer[] = [];
  for (let size_bytes = 0; size_bytes < WHOLE_BYTES;) {
    const { done, value } = await written.next();
    if (done === true) return { contentType, payload: Buffer.concat(held) };
    const piece = Buffer.from(value);
    size_bytes += piece.length;
    // To join the pieces takes as much again.
    hold(2 * size_bytes);
    held.push(piece);
  }
  const pieces = async function* (): AsyncGenerator<string | Buffer> {
    for (let piece = held.shift(); piece !== undefined; piece = held.shift()) yield piece;
    yield* written;
  };
  return { contentType, compressible: true, pieces };
}

/** Writes nested lists; see {@link writeLong}. */
export async function writeNested(
  format: Format,
  nested: NestedLists,
  isWanted: () => boolean,
  scheduler: Scheduler,
): Promise<EncodedBody> {
  const { element, field, lists } = nested;
  const outer = syntaxOf(format, { element, length: lists.length });
  const isXml = format.kind === "xml";
  const [open, close, none] = isXml ? [`<${field}>`, `</${field}>`, `<${field}/>`] : ["[", "]", "[]"];
  const count = lists.reduce((sum, { list }) => sum + list.length, lists.length);
  return await write(format, count, scheduler, async (pieces) => {
    pieces.push(Buffer.from(outer.before));
    for (const [i, { head, list }] of lists.entries()) {
      // The object is rendered without records, and the records are inserted at that place.
      const empty = outer.inner([{ ...head, [field]: isXml ? { [list.element]: [] } : [] }]);
      const place = empty.lastIndexOf(none);
      const [start, end] = [empty.slice(0, place), empty.slice(place + none.length)];
      pieces.push(Buffer.from((i === 0 ? "" : outer.between) + start + (list.length === 0 ? none : open)));
      for await (const piece of recordPieces(syntaxOf(format, list), list, isWanted, scheduler))
        pieces.push(Buffer.from(piece));
      pieces.push(Buffer.from((list.length === 0 ? "" : close) + end));
    }
    pieces.push(Buffer.from(outer.after));
  });
}

async function write(
  format: Format,
  records: number,
  { writeInTurn }: Scheduler,
  fill: (pieces: Buffer[]) => Promise<void>,
): Promise<EncodedBody> {
  const writing = async (): Promise<EncodedBody> => {
    const pieces: Buffer[] = [];
    await fill(pieces);
    const [only] = pieces;
    const payload = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
    return { contentType: CONTENT_TYPES[format.kind], payload };
  };
  return records <= SHORT_RECORDS ? await writing() : await writeInTurn(writing);
}

async function* listPieces(
  syntax: ListSyntax,
  list: LongList,
  isWanted: () => boolean,
  scheduler: Scheduler,
): AsyncGenerator<string> {
  yield syntax.before;
  yield* recordPieces(syntax, list, isWanted, scheduler);
  yield syntax.after;
}

async function* recordPieces(
  syntax: ListSyntax,
  list: LongList,
  isWanted: () => boolean,
  scheduler: Scheduler,
): AsyncGenerator<string> {
  const yielder = new Yielder(scheduler.querying);
  let text = "";
  for (let from = 0, paused = 0; from < list.length && isWanted();) {
    const to = Math.min(list.length, from + (list.isOfLargeRecords === true ? 1 : STEP_RECORDS));
    if (from > 0) text += syntax.between;
    for (const part of partsOf(syntax, list, { from, to })) {
      text += part;
      const isPause = yielder.isDue || to - paused >= CHUNK_RECORDS;
      if (text.length >= PIECE_UNITS || isPause) {
        yield text;
        text = "";
      }
      if (!isPause) continue;
      await yielder.turn();
      paused = to;
    }
    from = to;
  }
  if (text !== "") yield text;
}

function* partsOf(
  { inner, between, escape }: ListSyntax,
  { show, writeAsJson, writeAsXml }: LongList,
  { from, to }: { readonly from: number; readonly to: number },
): Generator<string> {
  if (escape !== null && writeAsJson !== undefined) {
    yield escape(Array.from({ length: to - from }, (_, i) => writeAsJson(from + i)).join(between));
  } else if (escape === null && writeAsXml !== undefined) {
    for (let index = from; index < to; index++) yield* writeAsXml(index);
  } else yield inner(show(from, to));
}

type Records = ReturnType<LongList["show"]>;
/** How the pieces of a list are joined. */
type ListSyntax = {
  readonly before: string;
  readonly inner: (records: Records) => string;
  readonly between: string;
  readonly after: string;
  /** Completes JSON; null for XML. */
  readonly escape: ((json: string) => string) | null;
};

function syntaxOf(format: Format, { element, length }: Pick<LongList, "element" | "length">): ListSyntax {
  const json = (records: Records): string => JSON.stringify(records).slice(1, -1);
  switch (format.kind) {
    case "json":
      return { before: "[", inner: json, between: ",", after: "]", escape: (written) => written };
    case "jsonp": {
      const [head = "", tail = ""] = wrapJsonp(format.callback, "[]").split("[]");
      const inner = (records: Records): string => escapeLines(json(records));
      return { before: `${head}[`, inner, between: ",", after: `]${tail}`, escape: escapeLines };
    }
    case "xml": {
      const [before, after] = length === 0 ? ["<results", "/>"] : ["<results>", "</results>"];
      const inner = (records: Records): string =>
        renderXml({ root: "results", content: { [element]: records } }).slice(
          XML_DECLARATION.length + before.length,
          -after.length,
        );
      return { before: XML_DECLARATION + before, inner, between: "", after, escape: null };
    }
    default:
      return format satisfies never;
  }
}
