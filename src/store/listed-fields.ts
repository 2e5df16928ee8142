import { FIELD_NAMES } from "../events/field-order.ts";
import { EVENT_SCHEMA } from "../events/schema.ts";
import type { FieldName, FieldsWith } from "../events/schema.ts";
import type { FieldSummary } from "./store.ts";

/** The fields of an event that {@link Store.fields} lists. */
export const LISTED_FIELDS = FIELD_NAMES.filter((name): name is ListedField => EVENT_SCHEMA[name].report !== null);
/** A field whose events, or values, are listed. */
export type ListedField = Exclude<FieldName, FieldsWith<{ report: null }>>;
/** A field whose values are listed. */
export type FieldWithValues = FieldsWith<{ report: "values" }>;

/** Returns whether the values of a field are listed. */
export function hasListedValues(field: ListedField): field is FieldWithValues {
  return EVENT_SCHEMA[field].report === "values";
}

/** Returns the kind of a field's values in {@link FieldSummary}. */
export function kindOfField(field: ListedField): FieldSummary["kind"] {
  const { type } = EVENT_SCHEMA[field];
  if (type === "date") return "time";
  return type === "place" || type === "number" ? type : "text";
}
