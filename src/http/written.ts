import { setImmediate as turn } from "node:timers/promises";

import { CONTENT_TYPES, escapeLines, wrapJsonp } from "./formats.ts";
import type { Format } from "./formats.ts";
import { createTurns } from "./turns.ts";
import { renderXml, XML_DECLARATION } from "./xml.ts";
import type { XmlValue } from "./xml.ts";

/** An answer that is bytes already. */
export type Written = { readonly contentType: string; readonly payload: Buffer };

/** A list that may be long: how many records it has, and how some of them are shown. XML has each as an element of this name in `results`. */
export type LongList = {
  readonly length: number;
  readonly element: string;
  readonly show: (from: number, to: number) => readonly { readonly [field: string]: XmlValue }[];
  /** The same for XML, where it differs. */
  readonly showAsXml?: LongList["show"];
};

/**
 * Records that are written at a time, in which nobody else is answered: half a millisecond as JSON.
 */
const PIECE = 250;
/** Lists of so many records wait for no other. */
const SHORT = 1000;

const inTurn = createTurns();

/**
 * Writes a long list piece by piece, and one list after the other (a short one waits for none), so that posts and other questions are answered meanwhile. As one text, what takes a hundred
 * thousand records holds up the process for a second, and as XML for three.
 *
 * @param isWanted whether anyone still waits for it; where nobody does, the rest is left out
 */
export async function writeLong(format: Format, list: LongList, isWanted: () => boolean): Promise<Written> {
  const writing = (): Promise<Written> => write(format, list, isWanted);
  return list.length <= SHORT ? await writing() : await inTurn(writing);
}

async function write(format: Format, list: LongList, isWanted: () => boolean): Promise<Written> {
  const { before, inner, between, after } = wayOf(format, list);
  const show = format.kind === "xml" ? (list.showAsXml ?? list.show) : list.show;
  const contentType = CONTENT_TYPES[format.kind];
  if (list.length <= PIECE) {
    return { contentType, payload: Buffer.from(before + inner(show(0, list.length)) + after) };
  }
  const pieces: Buffer[] = [Buffer.from(before)];
  for (let from = 0; from < list.length && isWanted(); from += PIECE) {
    const text = inner(show(from, Math.min(from + PIECE, list.length)));
    pieces.push(Buffer.from(from === 0 ? text : between + text));
    await turn();
  }
  pieces.push(Buffer.from(after));
  return { contentType, payload: Buffer.concat(pieces) };
}

type Records = ReturnType<LongList["show"]>;
/** How the pieces of a list become one text. */
type Way = {
  readonly before: string;
  readonly inner: (records: Records) => string;
  readonly between: string;
  readonly after: string;
};

function wayOf(format: Format, { element, length }: LongList): Way {
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
