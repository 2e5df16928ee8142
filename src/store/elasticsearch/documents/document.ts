import type { EventRow, LogKey, StoredEvent, UserId } from "../../../events/event.ts";
import { hashText } from "../../../events/hash.ts";
import type { EventId } from "../../../events/id.ts";
import type { KeywordField, Keywords } from "../../../events/keywords.ts";
import { mapKeywords } from "../../../events/map-keywords.ts";
import { fold, wellFormed } from "../../../events/text.ts";
import { HIGHEST_LIMITS } from "../../../events/limits.ts";
import { ATTRIBUTES, indexAttributes } from "./attributes.ts";
import type { AttributeIndex } from "./attributes.ts";
import { digitWord, digitsOfData, isOdd, isOddData } from "./words.ts";

/**
 * Document of an index: an event, or with `owner` a user's copy of one. Absent values are left out.
 * A permanently deleted document is replaced by the marker `{}`: without `log` no query finds it,
 * and a create conflicts with it.
 */
export type Document = Partial<Keywords> & {
  id: EventId;
  log: StoredEvent["log"];
  created: number;
  text?: string;
  hash?: string;
  tags?: readonly string[];
  class?: string;
  value?: number;
  geo?: NonNullable<StoredEvent["geo"]>;
  /** `geo` as a point, unless it is an address. */
  place?: string;
  data?: string;
  attributes?: string;
  /** Index of the attributes. */
  indexed?: AttributeIndex;
  pattern?: string;
  has?: readonly Flag[];
  owner?: UserId;
  folded?: Partial<Record<KeywordField | "text" | "hash" | "pattern" | "class", string>> & {
    tags?: readonly string[];
    /** Runs of digits of an event's text, see `words.ts`. */
    digits?: string;
    /** Runs of digits of an event's data. */
    dataDigits?: string;
  };
};

/** Returns the `_id` of a user's copy of an event. */
export function copyId(id: EventId, owner: UserId): string {
  return `${id}-${owner}`;
}

type Flag = "data" | "geo" | typeof ODD_TEXT | typeof ODD_DATA | typeof SEEN | SeenBy;
/** Marks an alert that its user has seen. `SeenBy` also names the bulk change that marked it. */
export const SEEN = "seen";
export type SeenBy = `${typeof SEEN}:${string}`;
/** Marks a text that the index of words may tokenize differently. */
export const ODD_TEXT = "odd-text";
/** Marks data that the index of words may tokenize differently. */
export const ODD_DATA = "odd-data";

export const MARKER = "{}";
/** Source filter for many rows. Rows contain neither folded forms nor data. */
export const ROW_SOURCE = { excludes: ["data", "folded", ATTRIBUTES, "place"] };
/** Source filter for rows whose data is tested. */
export const TESTED_SOURCE = { excludes: ["folded", ATTRIBUTES, "place"] };

/**
 * Returns the source filter for a few rows. A filter makes Elasticsearch parse each document, which
 * costs more than sending the folded forms. But `data` and indexed attributes may be large, so
 * whole documents are requested only from logs of which none with these has been read.
 */
export function sourceOfFewRows(logs: readonly LogKey[]): true | typeof ROW_SOURCE {
  return logs.some((log) => logsWithLargeFields.has(log)) ? ROW_SOURCE : true;
}

/** Logs of which this process has read a document with `data` or attributes. */
const logsWithLargeFields = new Set<LogKey>();

/** Copies are few, so their attributes have no columns. */
export const NO_COLUMNS = (): boolean => false;

/**
 * Encodes the document of an event as JSON.
 * @param hasColumns see {@link indexAttributes}
 */
export function encodeDocument(event: StoredEvent, hasColumns: (key: string) => boolean, owner?: UserId): string {
  return encode(event, { hasColumns, owner, seen: [] });
}

/** Encodes the document of a user's copy again, for another index. */
export function encodeCopy(event: StoredEvent, { owner, has = [] }: Pick<Document, "owner" | "has">): string {
  const seen = has.filter((mark) => mark === SEEN || mark.startsWith(`${SEEN}:`));
  return encode(event, { hasColumns: NO_COLUMNS, owner, seen });
}

type Encoding = {
  readonly hasColumns: (key: string) => boolean;
  readonly owner: UserId | undefined;
  readonly seen: readonly Flag[];
};

function encode(event: StoredEvent, { hasColumns, owner, seen }: Encoding): string {
  const texts = {
    ...mapKeywords((name) => present(event[name])),
    text: present(event.text),
    hash: hashText(event.text),
    pattern: present(event.pattern),
    tags: event.tags.length === 0 ? undefined : event.tags.map(wellFormed),
    class: present(event.class),
  };
  const text = folded(texts.text);
  return JSON.stringify({
    id: event.id,
    log: event.log,
    created: event.created,
    ...texts,
    value: event.value ?? undefined,
    geo: event.geo ?? undefined,
    place: pointOf(event.geo),
    attributes: event.attributes ?? undefined,
    indexed: event.attributes === null ? undefined : indexAttributes(event.attributes, hasColumns),
    data: event.data === null ? undefined : wellFormed(event.data),
    has: flagsOf(event, { text, seen, isCopy: owner !== undefined }),
    owner,
    folded: {
      ...mapKeywords((name) => folded(texts[name])),
      text,
      digits: text === undefined || owner !== undefined ? undefined : digitWord(text),
      dataDigits: owner !== undefined || !hasWords(event.data) ? undefined : digitsOfData(event.data),
      hash: folded(texts.hash),
      pattern: folded(texts.pattern),
      tags: texts.tags?.map(fold),
      class: folded(texts.class),
    },
  });
}

/** Converts a document to a row. The document may lack the fields that no row has. */
export function toRow(document: Document): EventRow {
  if (document.data !== undefined || document.attributes !== undefined) logsWithLargeFields.add(document.log);
  return {
    ...mapKeywords((name) => document[name] ?? ""),
    id: document.id,
    log: document.log,
    created: document.created,
    text: document.text ?? "",
    tags: document.tags ?? [],
    value: document.value ?? null,
    geo: document.geo ?? null,
    attributes: document.attributes ?? null,
    hash: document.hash ?? "",
    pattern: document.pattern ?? "",
    class: document.class ?? null,
    data: document.has?.includes("data") ?? false,
  };
}

function pointOf(geo: StoredEvent["geo"]): string | undefined {
  return geo === null || "ip" in geo ? undefined : `${geo.lat},${geo.lon}`;
}

function present(text: string | null): string | undefined {
  return text === null || text === "" ? undefined : wellFormed(text);
}

function folded(text: string | undefined): string | undefined {
  return text === undefined ? undefined : fold(text);
}

/** Whether the digits of data are indexed. That of error events may be too long for one step. */
function hasWords(data: string | null): data is string {
  return data !== null && data.length <= 2 * HIGHEST_LIMITS.data;
}

type Flagged = { readonly text: string | undefined; readonly seen: readonly Flag[]; readonly isCopy: boolean };

function flagsOf(
  { data, geo }: Pick<StoredEvent, "data" | "geo">,
  { text, seen, isCopy }: Flagged,
): Flag[] | undefined {
  const flags: Flag[] = [...seen];
  if (data !== null) flags.push("data");
  // Copies are few, and have no index of words.
  if (data !== null && !isCopy && (!hasWords(data) || isOddData(data))) flags.push(ODD_DATA);
  if (geo !== null) flags.push("geo");
  if (text !== undefined && isOdd(text)) flags.push(ODD_TEXT);
  return flags.length === 0 ? undefined : flags;
}
