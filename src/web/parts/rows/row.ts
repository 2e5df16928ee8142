import { NO_KEYWORDS } from "../../../events/keywords.ts";
import type { Keywords } from "../../../events/keywords.ts";
import { levelOfTags } from "../../../events/level.ts";
import type { Level } from "../../../events/level.ts";
import { parseMoment } from "../api/types.ts";
import type { AttributeValue, EventRecord, EventPlace } from "../api/types.ts";

/** An event as a list holds it. Absent texts are "", as in the API. */
export type ListedEvent = Keywords & {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly created: number;
  readonly text: string;
  readonly tags: readonly string[];
  readonly class: string | null;
  /** Whether the event has data, which is read when the event is opened. */
  readonly data: boolean;
  readonly geo: EventPlace | null;
  readonly value: number | null;
  /** Opaque ids of the people who bookmarked it. */
  readonly bookmarks: readonly string[];
  readonly attributes: Readonly<Record<string, AttributeValue>>;
};

/** A row without content, as a template. */
export const EMPTY_ROW: ListedEvent = {
  ...NO_KEYWORDS,
  id: "",
  created: 0,
  text: "",
  tags: [],
  class: null,
  data: false,
  geo: null,
  value: null,
  bookmarks: [],
  attributes: {},
};

/** Returns the level by which an event is coloured; undefined without one, or if it has a class. */
export function shownLevel({ class: key, tags }: Pick<ListedEvent, "class" | "tags">): Level | undefined {
  return key === null ? levelOfTags(tags) || undefined : undefined;
}

/** Converts an event of the API to a row. */
export function rowOfRecord(event: EventRecord): ListedEvent {
  const { created, hash: _hash, log: _log, filter: _filter, alerts: _alerts, attributes = {}, ...shown } = event;
  return { ...shown, created: parseMoment(created), attributes };
}
