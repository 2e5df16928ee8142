import { momentOf } from "../api/types.ts";
import type { AttributeValue, EventRecord, Place } from "../api/types.ts";

/** An event as a list holds it. Absent texts are "", as the API tells them. */
export type EventRow = {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly created: number;
  readonly text: string;
  readonly link: string;
  readonly tags: readonly string[];
  readonly source: string;
  readonly class: string | null;
  /** Whether the event has data, which is read when it is opened. */
  readonly data: boolean;
  readonly geo: Place | null;
  readonly value: number | null;
  readonly user: string;
  /** Opaque ids of the people who marked it. */
  readonly bookmarks: readonly string[];
  readonly attributes: Readonly<Record<string, AttributeValue>>;
};

/** A row of an event that carries nothing, to fill in. */
export const EMPTY_ROW: EventRow = {
  id: "",
  created: 0,
  text: "",
  link: "",
  tags: [],
  source: "",
  class: null,
  data: false,
  geo: null,
  value: null,
  user: "",
  bookmarks: [],
  attributes: {},
};

/** The row of an event as the API's JSON has it. */
export function rowOf(event: EventRecord): EventRow {
  const { id, text, link, tags, source, data, geo, value, user, bookmarks, attributes = {} } = event;
  const created = momentOf(event.created);
  return { id, created, text, link, tags, source, class: event.class, data, geo, value, user, bookmarks, attributes };
}
