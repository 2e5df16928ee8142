/** A value of an attribute, or several. */
export type AttributeValue = string | number | boolean | readonly (string | number | boolean)[];

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
  readonly geo: { readonly lat: number; readonly lon: number } | { readonly ip: string } | null;
  readonly value: number | null;
  readonly user: string;
  /** Opaque ids of the people who marked it. */
  readonly bookmarks: readonly string[];
  readonly attributes: Readonly<Record<string, AttributeValue>>;
};

/** An event as the API's JSON has it, with attributes. */
export type WireEvent = Omit<EventRow, "created" | "attributes"> & {
  readonly created: string;
  readonly attributes?: EventRow["attributes"];
};

/** Reads `"/Date(1308491673911)/"`, which is how the API writes a moment. */
export function readMoment(created: string): number {
  return Number(/\d+|-\d+/.exec(created)?.[0] ?? Number.NaN);
}

/** The row of an event as it was read. */
export function rowOf(event: WireEvent): EventRow {
  const { id, text, link, tags, source, data, geo, value, user, bookmarks, attributes = {} } = event;
  const created = readMoment(event.created);
  return { id, created, text, link, tags, source, class: event.class, data, geo, value, user, bookmarks, attributes };
}
