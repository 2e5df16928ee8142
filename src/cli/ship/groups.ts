import { FORM_FIELD_NAMES } from "../../events/field-order.ts";
import { mapKeywords } from "../../events/map-keywords.ts";
import { splitTags } from "../../events/tags.ts";
import type { FieldChoice } from "../../ingest/kit/choice.ts";
import { eventOfAttributes } from "../../ingest/kit/document.ts";
import type { ProducerEvent } from "../../ingest/kit/endpoint.ts";
import type { MutableAttributes } from "../../ingest/kit/flatten.ts";
import { readProducerTime } from "../../ingest/kit/times.ts";

/** An event of a line, with fields as they are in the line. The service refuses what is invalid. */
export type LineEvent = ProducerEvent & {
  readonly unchecked?: { readonly [field in "value" | "geo"]: string | undefined };
};

/** Names of groups that become fields of an event. */
const FIELDS: ReadonlySet<string> = new Set([...FORM_FIELD_NAMES, "created"]);

/** Converts the named groups of a line. Those of loggers' names have the meaning that they have in JSON. */
export function eventOfGroups(given: Readonly<Record<string, string>>, line: string, choice: FieldChoice): LineEvent {
  const groups = new Map(Object.entries(given).filter(([, value]) => value !== undefined && value !== ""));
  const { created, value, geo, text = line, tags = "", data } = Object.fromEntries(groups);
  const others: MutableAttributes = new Map([...groups].filter(([name]) => !FIELDS.has(name)));
  const moment = created === undefined ? null : readProducerTime(created, choice.times);
  // A time before 1970 is no time of a log.
  const time = moment !== null && moment.ms >= 0 ? moment : null;
  const isTimeUnread = created !== undefined && time === null;
  const event = eventOfAttributes(others, choice, { text, time, isTimeUnread, tags: splitTags(tags) });
  const attributes: MutableAttributes = new Map(event.attributes);
  if (isTimeUnread) attributes.set("created", created);
  return {
    ...event,
    ...mapKeywords((name) => groups.get(name) || event[name] || ""),
    sourceKind: groups.has("source") ? undefined : event.sourceKind,
    attributes,
    ...(data !== undefined && { data }),
    unchecked: { value, geo },
  };
}
