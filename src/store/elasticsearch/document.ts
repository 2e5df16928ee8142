import type { EventRow, LogKey, StoredEvent, UserId } from "../../events/event.ts";
import { hashText } from "../../events/hash.ts";
import type { EventId } from "../../events/id.ts";
import { patternOf } from "../../events/pattern.ts";
import { fold, wellFormed } from "../../events/text.ts";
import { ATTRIBUTES, indexAttributes } from "./attributes.ts";
import type { AttributeIndex } from "./attributes.ts";
import { digitsOf, isOdd } from "./text-index/words.ts";

/**
 * What an index holds: an event, or with `owner` somebody's copy of one. Absent values are left
 * out. Instead of a document that was deleted for good there is the marker `{}`: without `log` no
 * query finds it, and a write that creates runs into it.
 */
export type Document = {
  id: EventId;
  log: StoredEvent["log"];
  created: number;
  text?: string;
  link?: string;
  hash?: string;
  tags?: readonly string[];
  source?: string;
  class?: string;
  user?: string;
  value?: number;
  geo?: NonNullable<StoredEvent["geo"]>;
  /** `geo` as a point, where it is none but an address. */
  place?: string;
  data?: string;
  attributes?: string;
  /** Of the attributes. */
  indexed?: AttributeIndex;
  /** Absent in documents of earlier releases. */
  pattern?: string;
  has?: readonly Mark[];
  owner?: UserId;
  folded?: Partial<Record<"text" | "link" | "hash" | "pattern" | "source" | "class" | "user", string>> & {
    tags?: readonly string[];
    /** Of an event's text, see `words.ts`. */
    digits?: string;
  };
};

type Mark = "data" | "geo" | typeof ADDRESS | typeof ODD_TEXT | typeof SEEN | SeenBy;
/** Marks an alert that its person has seen; also, by which change of many. */
export const SEEN = "seen";
export type SeenBy = `${typeof SEEN}:${string}`;
/** Marks an event whose `geo` is an address. Documents of earlier releases have no such mark. */
export const ADDRESS = "geo-address";
/** Marks a text that the index of words may hold otherwise than it is. */
export const ODD_TEXT = "odd-text";

export const MARKER = "{}";
/** What is read of documents to make rows of many: no row has their folded forms, or their data. */
export const ROW_SOURCE = { excludes: ["data", "folded", ATTRIBUTES, "place"] };

/**
 * What is read of the documents of a few rows. To leave something out Elasticsearch takes each
 * document apart, which costs more than sending the folded forms; but `data` may be large, and what
 * is indexed of attributes. So all is asked for of logs until a document of theirs has come with
 * it.
 */
export function sourceOfFewRows(logs: readonly LogKey[]): true | typeof ROW_SOURCE {
  return logs.some((log) => logsWithMore.has(log)) ? ROW_SOURCE : true;
}

/** Those of which this process has read a document with `data` or attributes. */
const logsWithMore = new Set<LogKey>();

/** Copies are few: none of their attributes has columns. */
export const NO_COLUMNS = (): boolean => false;

/**
 * The document of an event, as JSON.
 * @param hasColumns see {@link indexAttributes}
 */
export function encodeDocument(event: StoredEvent, hasColumns: (key: string) => boolean, owner?: UserId): string {
  return encode(event, { hasColumns, owner, seen: [] });
}

/** The document of a person's copy of an event anew, as this release writes it. */
export function encodeCopy(event: StoredEvent, { owner, has = [] }: Pick<Document, "owner" | "has">): string {
  const seen = has.filter((mark) => mark === SEEN || mark.startsWith(`${SEEN}:`));
  return encode(event, { hasColumns: NO_COLUMNS, owner, seen });
}

type Encoding = {
  readonly hasColumns: (key: string) => boolean;
  readonly owner: UserId | undefined;
  readonly seen: readonly Mark[];
};

function encode(event: StoredEvent, { hasColumns, owner, seen }: Encoding): string {
  const texts = {
    text: present(event.text),
    link: present(event.link),
    hash: hashText(event.text),
    pattern: present(event.pattern),
    tags: event.tags.length === 0 ? undefined : event.tags.map(wellFormed),
    source: present(event.source),
    class: present(event.class),
    user: present(event.user),
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
    has: marksOf(event, text, seen),
    owner,
    folded: {
      text,
      digits: text === undefined || owner !== undefined ? undefined : digitsOf(text),
      link: folded(texts.link),
      hash: folded(texts.hash),
      pattern: folded(texts.pattern),
      tags: texts.tags?.map(fold),
      source: folded(texts.source),
      class: folded(texts.class),
      user: folded(texts.user),
    },
  });
}

/** The row of a document, which may have been read without what no row has. */
export function toRow(document: Document): EventRow {
  if (document.data !== undefined || document.attributes !== undefined) logsWithMore.add(document.log);
  return {
    id: document.id,
    log: document.log,
    created: document.created,
    text: document.text ?? "",
    link: document.link ?? "",
    tags: document.tags ?? [],
    source: document.source ?? "",
    user: document.user ?? "",
    value: document.value ?? null,
    geo: document.geo ?? null,
    attributes: document.attributes ?? null,
    hash: document.hash ?? "",
    pattern: document.pattern ?? patternOf(document.text ?? ""),
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

function marksOf(
  { data, geo }: Pick<StoredEvent, "data" | "geo">,
  text: string | undefined,
  seen: readonly Mark[],
): Mark[] | undefined {
  const marks: Mark[] = [...seen];
  if (data !== null) marks.push("data");
  if (geo !== null) marks.push("geo");
  if (geo !== null && "ip" in geo) marks.push(ADDRESS);
  if (text !== undefined && isOdd(text)) marks.push(ODD_TEXT);
  return marks.length === 0 ? undefined : marks;
}
