import { z } from "zod";

import { EVENT_FIELDS } from "../../events/field-order.ts";
import type { EventField } from "../../events/field-order.ts";
import { KEYWORD_FIELDS } from "../../events/keywords.ts";
import { mapKeywords } from "../../events/map-keywords.ts";
import { named } from "./named.ts";

/** Schemas of events and of the values that several answers share: see `answers.ts`. */

export const EventIdText = named(
  "EventId",
  z
    .string()
    .regex(/^[0-9a-f]{24}$/)
    .describe("24 hex digits, rising with the time of acceptance; the first 8 are its Unix time in seconds."),
);

export const UserIdText = named(
  "UserId",
  z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe("The permanent id of an account."),
);

export const LogKeyText = named(
  "LogKey",
  z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .describe("The key of a log. Case does not matter in requests."),
);

export const MomentText = named(
  "Moment",
  z
    .string()
    .regex(/^\/Date\(-?\d+\)\/$/)
    .describe(
      "Milliseconds since the Unix epoch (UTC). Its slashes are escaped on the wire; XML holds ISO 8601 instead.",
    ),
);

export const GeoRecord = named(
  "Geo",
  z
    .union([
      z.strictObject({ lat: z.number().min(-90).max(90), lon: z.number().min(-180).max(180) }),
      z.strictObject({ ip: z.string() }),
    ])
    .describe("Where it happened, in degrees (WGS 84); only the IP address if its location is unknown."),
);

const AttributeValue = z.union([z.string(), z.number(), z.boolean()]);
export const AttributeValues = named(
  "AttributeValues",
  z.union([AttributeValue, z.array(AttributeValue).min(1)]).describe("As posted: one value or several."),
);

const [FIRST_KEYWORD, ...OTHER_KEYWORDS] = KEYWORD_FIELDS;
const ABSENT = `"" if absent, like ${OTHER_KEYWORDS.join(", ").replace(/, (\w+)$/, " and $1")}.`;

const EVENT_SHAPE: Record<EventField, z.ZodType> = {
  ...mapKeywords((name) => (name === FIRST_KEYWORD ? z.string().describe(ABSENT) : z.string())),
  id: EventIdText,
  created: MomentText,
  text: z.string(),
  hash: z
    .string()
    .regex(/^[A-Za-z0-9+/]{22}==$/)
    .describe("Equal for equal texts: base64 of 16 bytes."),
  tags: z.array(z.string()),
  log: LogKeyText,
  class: z.string().nullable().describe("The class that the log's class filters assigned to the event."),
  data: z.boolean().describe("Whether the event has data, which is read at its own address."),
  geo: GeoRecord.nullable(),
  value: z.number().nullable(),
  filter: z.string().nullable().describe("The key of the class filter that assigned the class."),
  bookmarks: z.array(UserIdText).describe("Users who bookmarked it."),
  alerts: z.array(UserIdText).min(1).nullable().describe("Users who were alerted; null if there are none."),
};

/** Returns the schemas with these names, in their order. */
export function inOrder<Name extends string>(names: readonly Name[], shape: Record<Name, z.ZodType>): typeof shape {
  return Object.fromEntries(names.map((name) => [name, shape[name]])) as typeof shape;
}

export const EventRecord = named(
  "Event",
  z.strictObject({
    ...inOrder(EVENT_FIELDS, EVENT_SHAPE),
    attributes: z
      .record(z.string(), AttributeValues)
      .optional()
      .describe("The producer's own fields, by name, if they are requested."),
  }),
);

export const EventList = named("Events", z.array(EventRecord));

export const EventData = named("EventData", z.string().nullable().describe("As posted; null if there is none."));
