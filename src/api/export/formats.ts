import { preferred } from "../../http/formats.ts";
import { Moment } from "../../http/moment.ts";
import { renderElement, XML_DECLARATION } from "../../http/xml.ts";
import type { XmlValue } from "../../http/xml.ts";
import { badParameter } from "../../query/parameters.ts";
import { csvLine } from "./csv.ts";

export const EXPORT_FORMATS = ["ndjson", "csv", "xml"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Media types in `Accept` and their formats. */
const MEDIA_TYPES: readonly { readonly type: string; readonly format: ExportFormat }[] = [
  { type: "application/x-ndjson", format: "ndjson" },
  { type: "application/ndjson", format: "ndjson" },
  { type: "application/jsonl", format: "ndjson" },
  { type: "application/json", format: "ndjson" },
  { type: "text/csv", format: "csv" },
  { type: "text/xml", format: "xml" },
  { type: "application/xml", format: "xml" },
];

/**
 * Returns the format of an export: the parameter `format` or `fmt`, or the one that `Accept`
 * prefers, or else NDJSON.
 * @throws LoggiaError `bad_parameter` for an unknown one
 */
export function exportFormat(query: URLSearchParams, accept: string | undefined): ExportFormat {
  const name = ["format", "fmt"].find((parameter) => (query.get(parameter) ?? "") !== "");
  if (name === undefined) return preferred(accept ?? "", MEDIA_TYPES) ?? "ndjson";
  const asked = query.get(name)!.toLowerCase();
  // Exports have no JSON array; `fmt=json` gives one line per record.
  if (name === "fmt" && asked === "json") return "ndjson";
  const known = EXPORT_FORMATS.find((format) => format === asked);
  if (known !== undefined) return known;
  throw badParameter(name, asked, "ndjson, csv or xml");
}

/** How records of one kind are written in each format. */
export type RecordKind<Item> = {
  /** Header row of CSV. */
  readonly header: readonly string[];
  readonly json: (item: Item) => string;
  readonly cells: (item: Item) => readonly string[];
  readonly xml: (item: Item) => Iterable<string>;
};

export type RecordWriter<Item> = {
  readonly contentType: string;
  /** Text before the first record. */
  readonly head: string;
  /** Writes a record, in parts. */
  readonly write: (item: Item) => Iterable<string>;
  /** Text after the last record. */
  readonly tail: string;
};

export function recordWriter<Item>(format: ExportFormat, kind: RecordKind<Item>): RecordWriter<Item> {
  switch (format) {
    case "ndjson":
      return {
        contentType: "application/x-ndjson; charset=utf-8",
        head: "",
        write: (item) => [`${kind.json(item)}\n`],
        tail: "",
      };
    case "csv":
      return {
        contentType: "text/csv; charset=utf-8; header=present",
        head: csvLine(kind.header),
        write: (item) => [csvLine(kind.cells(item))],
        tail: "",
      };
    case "xml":
      return {
        contentType: "text/xml; charset=utf-8",
        head: `${XML_DECLARATION}<results>`,
        write: kind.xml,
        tail: "</results>\n",
      };
    default:
      return format satisfies never;
  }
}

/** Returns the writer of groups and users, objects of plain fields. Moments are ISO 8601. */
export function plainRecords(
  element: string,
  header: readonly string[],
): RecordKind<{ readonly [field: string]: XmlValue }> {
  return {
    header,
    json: (record) => JSON.stringify(record, isoMoments),
    cells: (record) => header.map((name) => csvCell(record[name] ?? null)),
    xml: (record) => [renderElement(element, record)],
  };
}

/** Replaces moments, read from `this`: `value` is already the result of their `toJSON`. */
function isoMoments(this: unknown, name: string, value: unknown): unknown {
  const own = (this as Readonly<Record<string, unknown>>)[name];
  return own instanceof Moment ? own.toString() : value;
}

/** Formats a cell. Lists and objects become JSON, as their items may contain any text. */
export function csvCell(value: XmlValue): string {
  if (value === null) return "";
  return typeof value !== "object" || value instanceof Moment ? value.toString() : JSON.stringify(value);
}
