import { completeOrder } from "../../../events/field-order.ts";
import { isKeyword, KEYWORD_FIELDS } from "../../../events/keywords.ts";
import type { KeywordField } from "../../../events/keywords.ts";
import { placeText, attributeValues } from "../rows/columns.ts";
import type { ListedEvent } from "../rows/row.ts";
import { shortenText } from "../text/numbers.ts";

/** A value as shown, and as a query names it. */
export type DetailValue = {
  readonly shown: string;
  /** null if no query can match this value. */
  readonly value: string | number | null;
};

/** A field of an event, or an attribute with its `@`, with its values. */
export type EventDetail = { readonly field: string; readonly values: readonly DetailValue[] };

export type DetailsOptions = {
  /** Formats a moment in full, with its offset. */
  readonly moment: (ms: number) => string;
  /** Returns the name of a class by its key. */
  readonly className: (key: string) => string;
};

/** Returns the fields that an event has, in display order. */
export function detailsOfEvent(event: ListedEvent, { moment, className }: DetailsOptions): readonly EventDetail[] {
  const valuesOf = (field: DetailField): readonly DetailValue[] => {
    if (isKeyword(field)) return plain(event[field]);
    switch (field) {
      case "created":
        return [{ shown: moment(event.created), value: null }];
      case "class":
        return event.class === null ? [] : [{ shown: className(event.class), value: event.class }];
      case "tags":
        return event.tags.map((tag) => ({ shown: tag, value: tag }));
      case "value":
        return event.value === null ? [] : [{ shown: String(event.value), value: event.value }];
      case "geo":
        return event.geo === null ? [] : [{ shown: placeText(event.geo), value: null }];
      case "id":
        return plain(event.id);
    }
  };
  return DETAIL_FIELDS.map((field) => ({ field, values: valuesOf(field) })).filter(({ values }) => values.length > 0);
}

type DetailField = KeywordField | "created" | "class" | "tags" | "value" | "geo" | "id";
/** The fields in display order. */
const DETAIL_FIELDS = completeOrder<DetailField>(KEYWORD_FIELDS, [
  "created",
  "class",
  "source",
  "tags",
  "user",
  "value",
  "geo",
  "link",
  "id",
]);

/** Returns the attributes of an event, sorted by name. */
export function attributesOfEvent(event: ListedEvent): readonly EventDetail[] {
  const names = Object.keys(event.attributes).toSorted();
  return names.map((name) => ({ field: `@${name}`, values: detailValues(event, name) }));
}

function detailValues(event: ListedEvent, name: string): readonly DetailValue[] {
  const value = event.attributes[name];
  const values = attributeValues(event, `@${name}`);
  if (typeof value === "number") return [{ shown: values[0]!, value }];
  return values.map((shown) => ({ shown: shown === "" ? "“”" : shown, value: shown }));
}

function plain(text: string): readonly DetailValue[] {
  return text === "" ? [] : [{ shown: text, value: text }];
}

/** Returns a link that is safe to follow (http, https or mailto); null for any other text. */
export function safeLink(link: string): string | null {
  if (!URL.canParse(link)) return null;
  const { protocol, href } = new URL(link);
  return ["http:", "https:", "mailto:"].includes(protocol) ? href : null;
}

/** Most characters of a value in a condition; a query may have 4,096. */
export const LONGEST_VALUE = 1_000;

/** Most characters of a value in a menu. */
const LONGEST_NAME = 40;

/** Actions that a menu offers for a value. */
export type ValueAction = "only" | "not" | "above" | "below" | "group" | "column" | "copy" | "follow";

const UNGROUPED: ReadonlySet<string> = new Set(["created", "id"]);
const NO_COLUMN: ReadonlySet<string> = new Set(["created"]);

export function actionsOfValue(field: string, { value }: DetailValue, link: string | null): readonly ValueAction[] {
  const isComparable = typeof value === "string" ? value.length <= LONGEST_VALUE : value !== null;
  const conditions: ValueAction[] = isComparable ? ["only", "not"] : [];
  const bounds: ValueAction[] = typeof value === "number" ? ["above", "below"] : [];
  const group: ValueAction[] = UNGROUPED.has(field) ? [] : ["group"];
  const column: ValueAction[] = NO_COLUMN.has(field) ? [] : ["column"];
  return [...conditions, ...bounds, ...group, ...column, "copy", ...(link === null ? [] : (["follow"] as const))];
}

/** The label of an action: our words before and after the value or field. */
export type ActionLabel = { readonly before?: string; readonly name?: string; readonly after?: string };

export function actionLabel(action: ValueAction, field: string, shown: string, isColumn: boolean): ActionLabel {
  const name = shortenText(shown, LONGEST_NAME);
  switch (action) {
    case "only":
      return { before: "Only ", name };
    case "not":
      return { before: "All but ", name };
    case "above":
      return { name, after: " and above" };
    case "below":
      return { name, after: " and below" };
    case "group":
      return { before: "Group by ", name: field };
    case "column":
      return { before: isColumn ? "Hide the column" : "Show as a column" };
    case "copy":
      return { before: "Copy value" };
    case "follow":
      return { before: "Open the link" };
    default:
      return action satisfies never;
  }
}
