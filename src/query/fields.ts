import { EVENT_SCHEMA, fieldsWith } from "../events/schema.ts";
import type { AttributeField, ConditionField, UserField } from "./plan.ts";

/** Type of a field, and its name in plans. */
export type FieldInfo<Field extends string> =
  | { readonly type: "text" | "number" | "date" | "attribute"; readonly field: Field }
  /** The field can be tested for presence, and located. */
  | { readonly type: "place"; readonly field: "geo" }
  /** The field can be tested for presence, and searched. */
  | { readonly type: "searched"; readonly field: "data" }
  /** The level that tags name. */
  | { readonly type: "level" }
  /** The field is shown, but cannot be used in conditions. */
  | { readonly type: "annotation" };

/** The fields of a table by their names in LQL, in lower case. */
export type FieldTable<Field extends string> = {
  readonly name: "events" | "users";
  readonly fields: ReadonlyMap<string, FieldInfo<Field>>;
  /** Converts the name of an attribute to a field; null if the table has no attributes. */
  readonly attribute: ((name: AttributeField) => Field) | null;
};

export const EVENTS: FieldTable<ConditionField> = {
  name: "events",
  fields: new Map(
    Object.entries(EVENT_SCHEMA).map(([name, { type }]) => {
      const field = name === "filter" ? "class" : name;
      return [name, { type, field } as FieldInfo<ConditionField>];
    }),
  ),
  attribute: (name) => name,
};

export const USERS: FieldTable<UserField> = {
  name: "users",
  fields: new Map<string, FieldInfo<UserField>>([
    ["user", { type: "text", field: "user" }],
    ["email", { type: "text", field: "email" }],
    ["page", { type: "text", field: "page" }],
    ["created", { type: "date", field: "created" }],
    ["seen", { type: "date", field: "seen" }],
    ["count", { type: "number", field: "count" }],
  ]),
  attribute: null,
};

export const SORT_FIELDS = /* @__PURE__ */ fieldsWith({ sorts: true });
export const GROUP_FIELDS = /* @__PURE__ */ fieldsWith({ groups: true });

/** Returns a name as in the tables: in lower case, and `tags` for `tag`. */
export function canonical(name: string): string {
  const lower = name.toLowerCase();
  return lower === "tag" ? "tags" : lower;
}
