import { completeOrder } from "../../../events/field-order.ts";
import { KEYWORD_FIELDS } from "../../../events/keywords.ts";
import type { FieldName } from "../../../events/schema.ts";
import { cellText } from "../rows/columns.ts";
import { hidesCharacters } from "../text/visible-text.ts";
import type { AttributeValue } from "../api/types.ts";
import type { ListedEvent } from "../rows/row.ts";

/** Forms in which an event can be copied. */
export const COPY_FORMS = ["text", "json", "lql", "curl"] as const;
export type CopyForm = (typeof COPY_FORMS)[number];

export type Copied = {
  readonly event: ListedEvent;
  /** null if it has none or it could not be read. */
  readonly data: string | null;
  readonly log: string;
  /** Base address of the API, without a trailing slash. */
  readonly api: string;
};

export function copyAs(form: CopyForm, copied: Copied): string {
  switch (form) {
    case "text":
      return asText(copied);
    case "json":
      return asJson(copied);
    case "lql":
      return asLql(copied.event);
    case "curl":
      return asCurl(copied);
    default:
      return form satisfies never;
  }
}

/** Formats a line with time, class, source and text, then named fields, then the data. */
function asText({ event, data }: Copied): string {
  const head = [new Date(event.created).toISOString(), event.class, event.source, event.text];
  const fields = [
    ...NAMED_FIELDS.map((name) => [name, cellText(event, name)]),
    ...Object.entries(event.attributes).map(([name, value]) => [`@${name}`, writtenValue(value)]),
    ["id", event.id],
  ].filter(([, value]) => value !== "");
  const lines = fields.map(([name, value]) => `${name}: ${value}`);
  return [head.filter((part) => part).join(" "), ...lines, ...(data === null ? [] : ["", data])].join("\n");
}

/** The fields that are copied with their names. */
const NAMED_FIELDS = completeOrder<FieldName>(KEYWORD_FIELDS, ["tags", "user", "value", "geo", "link"]).filter(
  (name) => name !== "source",
);

function writtenValue(value: AttributeValue): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** Formats the event as in an export, with its data. */
function asJson({ event, data, log }: Copied): string {
  const { id, created, bookmarks: _bookmarks, data: _data, attributes, ...rest } = event;
  const whole = { id, created: new Date(created).toISOString(), log, ...rest, data, attributes };
  return JSON.stringify(whole, undefined, 2);
}

/** Returns a query for this event alone. The range lets the store skip other data. */
function asLql({ id, created }: ListedEvent): string {
  const moment = (ms: number): string => `'${new Date(ms).toISOString()}'`;
  return `GET events WHERE id = '${id}' OCCURS(${moment(created)}, ${moment(created + 1)})`;
}

/** Returns a command that reads this event. It prompts for the password, which is not copied. */
function asCurl({ event, log, api }: Copied): string {
  return `curl -u YOU@EXAMPLE.COM ${quotedForShell(`${api}/1/logs/${log}/events/${event.id}?attributes=true`)}`;
}

function quotedForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns the note after copying a text with invisible characters; null without any. */
export function noteOfCopy(text: string): string | null {
  return hidesCharacters(text.replace(/[\r\n]/g, "")) ? "Copied with its invisible characters" : null;
}
