import { EVENT_SCHEMA } from "./schema.ts";
import type { FieldName, FieldsWith } from "./schema.ts";

/** The names of all fields, in the order of JSON, exports and reports. */
export const FIELD_NAMES = [
  "id",
  "created",
  "text",
  "link",
  "hash",
  "tags",
  "source",
  "log",
  "class",
  "data",
  "geo",
  "value",
  "user",
  "filter",
  "bookmarks",
  "alerts",
  "pattern",
  "level",
] as const satisfies readonly FieldName[];

/** The same, in the order of XML. */
export const XML_FIELD_NAMES = [
  "id",
  "text",
  "link",
  "hash",
  "tags",
  "source",
  "log",
  "user",
  "data",
  "created",
  "class",
  "geo",
  "value",
  "filter",
  "bookmarks",
  "alerts",
  "pattern",
  "level",
] as const satisfies readonly FieldName[];

export type EventField = FieldsWith<{ isShown: true }>;
/** The fields that are shown by default, in the order of JSON. */
export const EVENT_FIELDS = FIELD_NAMES.filter((name): name is EventField => EVENT_SCHEMA[name].isShown);
