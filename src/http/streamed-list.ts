import { setImmediate as turn } from "node:timers/promises";

import { CONTENT_TYPES, escapeLines, wrapJsonp } from "./formats.ts";
import type { Format } from "./formats.ts";
import { createTurns } from "../scheduling/turns.ts";
import { renderXml, XML_DECLARATION } from "./xml.ts";
import type { XmlValue } from "./xml.ts";

/** An answer that is bytes already. */
export type EncodedBody = { readonly contentType: string; readonly payload: Buffer };

/**
 * A list that may be long: how many records it has, and how some of them are shown. XML has each as
 * an element of this name in `results`.
 */
export type LongList = {
  readonly length: number;
  readonly element: string;
  readonly show: (from: number, to: number) => readonly { readonly [field: string]: XmlValue }[];
  /** The same for XML, where it differs. */
  readonly showAsXml?: LongList["show"];
};

/** Lists in a list: each is an object with a head and, in `field`, its records. */
export type NestedLists = {
  readonly element: string;
  readonly field: string;
  readonly lists: readonly { readonly head: { readonly [field: string]: XmlValue }; readonly list: LongList }[];
};

/**
 * Records that are written at a time, in which nobody else is answered: half a millisecond as JSON.
 */
const PIECE = 250;
/** Lists of so many records wait for no other. */
const SHORT = 1000;

const inTurn = createTurns();

/**
 * Writes a long list piece by piece, and one list after the other (a short one waits for none), so
 * that posts and other questions are answered meanwhile. As one text, what takes a hundred thousand
 * records holds up the process for a second, and as XML for three.
 *
 * @param isWanted whether anyone still waits for it; where nobody does, the rest is left out
 */
export async function writeLong(format: Format, given: LongList, isWanted: () => boolean): Promise<EncodedBody> {
  const list = format.kind === "xml" ? { ...given, show: given.showAsXml ?? given.show } : given;
  const way = wayOf(format, list);
  return await write(format, list.length, async (pieces) => {
    if (list.length <= PIECE) {
      pieces.push(Buffer.from(way.before + way.inner(list.show(0, list.length)) + way.after));
      return;
    }
    pieces.push(Buffer.from(way.before));
    await writeRecords(way, list, isWanted, pieces);
    pieces.push(Buffer.from(way.after));
  });
}

/** Writes lists in a list, as {@link writeLong} writes one. */
export async function writeNested(format: Format, nested: NestedLists, isWanted: () => boolean): Promise<EncodedBody> {
  const { element, field, lists } = nested;
  const outer = wayOf(format, { element, length: lists.length });
  const isXml = format.kind === "xml";
  const [open, close, none] = isXml ? [`<${field}>`, `</${field}>`, `<${field}/>`] : ["[", "]", "[]"];
  const count = lists.reduce((sum, { list }) => sum + list.length, lists.length);
  return await write(format, count, async (pieces) => {
    pieces.push(Buffer.from(outer.before));
    for (const [i, { head, list }] of lists.entries()) {
      // The object with no records, and then these in their place.
      const empty = outer.inner([{ ...head, [field]: isXml ? { [list.element]: [] } : [] }]);
      const place = empty.lastIndexOf(none);
      const [start, end] = [empty.slice(0, place), empty.slice(place + none.length)];
      pieces.push(Buffer.from((i === 0 ? "" : outer.between) + start + (list.length === 0 ? none : open)));
      await writeRecords(wayOf(format, list), list, isWanted, pieces);
      pieces.push(Buffer.from((list.length === 0 ? "" : close) + end));
    }
    pieces.push(Buffer.from(outer.after));
  });
}

async function write(format: Format, records: number, fill: (pieces: Buffer[]) => Promise<void>): Promise<EncodedBody> {
  const writing = async (): Promise<EncodedBody> => {
    const pieces: Buffer[] = [];
    await fill(pieces);
    const [only] = pieces;
    const payload = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
    return { contentType: CONTENT_TYPES[format.kind], payload };
  };
  return records <= SHORT ? await writing() : await inTurn(writing);
}

async function writeRecords(
  { inner, between }: Way,
  list: LongList,
  isWanted: () => boolean,
  pieces: Buffer[],
): Promise<void> {
  for (let from = 0; from < list.length && isWanted(); from += PIECE) {
    const text = inner(list.show(from, Math.min(from + PIECE, list.length)));
    pieces.push(Buffer.from(from === 0 ? text : between + text));
    await turn();
  }
}

type Records = ReturnType<LongList["show"]>;
/** How the pieces of a list become one text. */
type Way = {
  readonly before: string;
  readonly inner: (records: Records) => string;
  readonly between: string;
  readonly after: string;
};

function wayOf(format: Format, { element, length }: Pick<LongList, "element" | "length">): Way {
  const json = (records: Records): string => JSON.stringify(records).slice(1, -1);
  switch (format.kind) {
    case "json":
      return { before: "[", inner: json, between: ",", after: "]" };
    case "jsonp": {
      const [head = "", tail = ""] = wrapJsonp(format.callback, "[]").split("[]");
      return { before: `${head}[`, inner: (records) => escapeLines(json(records)), between: ",", after: `]${tail}` };
    }
    case "xml": {
      const [before, after] = length === 0 ? ["<results", "/>"] : ["<results>", "</results>"];
      const inner = (records: Records): string =>
        renderXml({ root: "results", content: { [element]: records } }).slice(
          XML_DECLARATION.length + before.length,
          -after.length,
        );
      return { before: XML_DECLARATION + before, inner, between: "", after };
    }
    default:
      return format satisfies never;
  }
}
