import { completeOrder } from "../../../events/field-order.ts";
import { isKeyword, KEYWORD_FIELDS } from "../../../events/keywords.ts";
import { levelOfTags } from "../../../events/level.ts";
import type { FieldName } from "../../../events/schema.ts";
import type { ListedEvent } from "./row.ts";

/** A column of a list, after the time. `width` is in pixels; null for the default. */
export type ListColumn = { readonly name: string; readonly width: number | null };

/** The fields that can be columns; attributes are named with their `@`. */
export const COLUMN_FIELDS = completeOrder<FieldName>(KEYWORD_FIELDS, [
  "class",
  "level",
  "source",
  "text",
  "tags",
  "user",
  "value",
  "link",
  "geo",
  "id",
]);

export const DEFAULT_COLUMNS: readonly ListColumn[] = Object.freeze(
  ["class", "source", "text", "tags"].map((name) => Object.freeze({ name, width: null })),
);

const MIN_WIDTH = 48;
const MAX_WIDTH = 1_200;
const MAX_COLUMNS = 40;

/** Default widths in pixels. The text takes the remaining space. */
const OWN_WIDTH: Readonly<Record<string, number>> = {
  class: 112,
  level: 72,
  source: 96,
  tags: 152,
  user: 128,
  value: 88,
  link: 192,
  geo: 152,
  id: 208,
};
const ATTRIBUTE_WIDTH = 128;
/** Least width of the text in pixels, unless a width is chosen. */
const LEAST_TEXT = 120;
/** Width of the time's column, the gutter and the padding, in pixels. */
const TIME_AND_EDGES = 156;

/**
 * Parses `source,@took:160,text`, as in the address; returns null if it names no column. `,` and
 * `:` within names are encoded.
 */
export function readColumns(written: string): readonly ListColumn[] | null {
  const columns = new Map<string, ListColumn>();
  for (const part of written.split(",").slice(0, MAX_COLUMNS)) {
    const [encoded = "", width] = part.split(":");
    const name = decoded(encoded.trim());
    if (isColumn(name) && !columns.has(name)) columns.set(name, { name, width: readWidth(width) });
  }
  return columns.size === 0 ? null : [...columns.values()];
}

/** Writes columns as {@link readColumns} parses them; "" for the default columns. */
export function writeColumns(columns: readonly ListColumn[]): string {
  const written = columns.map(({ name, width }) => `${encoded(name)}${width === null ? "" : `:${width}`}`).join(",");
  return written === "class,source,text,tags" ? "" : written;
}

/** Returns the columns that fields can be, with default widths; null for none. */
export function columnsNamed(names: readonly string[]): readonly ListColumn[] | null {
  return readColumns(names.map(encoded).join(","));
}

function isColumn(name: string): boolean {
  return COLUMN_FIELDS.some((field) => field === name) || (name.startsWith("@") && name.length > 1);
}

function readWidth(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,4}$/.test(text) ? clampWidth(Number(text)) : null;
}

function encoded(name: string): string {
  return name.replace(/[%,:]/g, (character) => encodeURIComponent(character));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function clampWidth(width: number): number {
  return Math.round(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)));
}

export function hasColumn(columns: readonly ListColumn[], name: string): boolean {
  return columns.some((column) => column.name === name);
}

/** Adds a column, before trailing tags, or removes it. The last column can't be removed. */
export function toggleColumn(columns: readonly ListColumn[], name: string): readonly ListColumn[] {
  if (hasColumn(columns, name)) {
    const rest = columns.filter((column) => column.name !== name);
    return rest.length === 0 ? columns : rest;
  }
  const at = columns.at(-1)?.name === "tags" ? columns.length - 1 : columns.length;
  return columns.toSpliced(at, 0, { name, width: null });
}

/** Moves a column by a number of places, up to the ends. */
export function moveColumn(columns: readonly ListColumn[], name: string, by: number): readonly ListColumn[] {
  const from = columns.findIndex((column) => column.name === name);
  if (from === -1) return columns;
  const to = Math.max(0, Math.min(columns.length - 1, from + by));
  return columns.toSpliced(from, 1).toSpliced(to, 0, columns[from]!);
}

export function resizeColumn(
  columns: readonly ListColumn[],
  name: string,
  width: number | null,
): readonly ListColumn[] {
  const next = width === null ? null : clampWidth(width);
  return columns.map((column) => (column.name === name ? { name, width: next } : column));
}

/** Returns the width of a column that does not take the remaining space. */
export function columnWidth({ name, width }: ListColumn): number {
  return width ?? OWN_WIDTH[name] ?? (name === "text" ? LEAST_TEXT : ATTRIBUTE_WIDTH);
}

/** Returns the column that takes the remaining space: the unsized text, else the last. */
function wideColumn(columns: readonly ListColumn[]): ListColumn | undefined {
  return columns.find(({ name, width }) => name === "text" && width === null) ?? columns.at(-1);
}

/** Returns the grid tracks after that of the time. */
export function gridTracks(columns: readonly ListColumn[]): string {
  const wide = wideColumn(columns);
  return columns
    .map((column) => (column === wide ? `minmax(${columnWidth(column)}px, 1fr)` : `${columnWidth(column)}px`))
    .join(" ");
}

/** Returns the least width of the list; in a narrower view it scrolls sideways. */
export function leastListWidth(columns: readonly ListColumn[]): number {
  return columns.reduce((sum, column) => sum + columnWidth(column), TIME_AND_EDGES);
}

/** Returns the heading of a column. */
export function columnTitle(name: string): string {
  return name.startsWith("@") ? name : `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

/** Returns a column's text for an event. A class is given by its key, not its display name. */
export function cellText(row: ListedEvent, name: string): string {
  if (name.startsWith("@")) return attributeValues(row, name).join(", ");
  if (isKeyword(name)) return row[name];
  switch (name) {
    case "tags":
      return row.tags.join(" ");
    case "value":
      return row.value === null ? "" : String(row.value);
    case "geo":
      return placeText(row.geo);
    case "class":
      return row.class ?? "";
    case "level":
      return levelOfTags(row.tags);
    case "id":
    case "text":
      return row[name];
    default:
      return "";
  }
}

/** Returns the values of an attribute, named with its `@`. */
export function attributeValues(row: ListedEvent, name: string): readonly string[] {
  const attribute = name.slice(1);
  if (!Object.hasOwn(row.attributes, attribute)) return [];
  const value = row.attributes[attribute]!;
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

export function placeText(geo: ListedEvent["geo"]): string {
  if (geo === null) return "";
  return "ip" in geo ? geo.ip : `${geo.lat.toFixed(4)}, ${geo.lon.toFixed(4)}`;
}
