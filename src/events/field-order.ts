import { BOUNDED_FIELDS, EVENT_SCHEMA } from "./schema.ts";
import type { BoundedField, FieldName, FieldsWith } from "./schema.ts";

const ALL = /* @__PURE__ */ Object.keys(EVENT_SCHEMA) as FieldName[];

/** The names of all fields, in the order of JSON, exports and reports. */
export const FIELD_NAMES = /* @__PURE__ */ completeOrder(ALL, [
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
]);

/** The same, in the order of XML. */
export const XML_FIELD_NAMES = /* @__PURE__ */ completeOrder(ALL, [
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
]);

/** The posted fields whose length is bounded, in the order of forms in documentation. */
export const FORM_FIELD_NAMES: readonly BoundedField[] = /* @__PURE__ */ completeOrder(BOUNDED_FIELDS, [
  "text",
  "tags",
  "source",
  "user",
  "value",
  "geo",
  "link",
  "data",
]);

/** The same, in the order of lines on the bus. */
export const LINE_FIELD_NAMES: readonly BoundedField[] = /* @__PURE__ */ completeOrder(BOUNDED_FIELDS, [
  "text",
  "link",
  "tags",
  "source",
  "user",
  "value",
  "geo",
  "data",
]);

/** Appends the fields that an order does not place. */
export function completeOrder<Name extends FieldName>(
  names: readonly Name[],
  placed: readonly Name[],
): readonly Name[] {
  return [...placed, ...names.filter((name) => !placed.includes(name))];
}

export type EventField = FieldsWith<{ isShown: true }>;
/** The fields that are shown by default, in the order of JSON. */
export const EVENT_FIELDS = FIELD_NAMES.filter((name): name is EventField => EVENT_SCHEMA[name].isShown);
