import { preferred } from "../../http/formats.ts";
import { Moment } from "../../http/moment.ts";
import { renderXml, XML_DECLARATION } from "../../http/xml.ts";
import type { XmlValue } from "../../http/xml.ts";
import { badParameter } from "../../query/parameters.ts";
import { csvLine } from "./csv.ts";

export const EXPORT_FORMATS = ["ndjson", "csv", "xml"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The media types by which `Accept` asks for a format. */
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
 * The format of an export: the parameter `format`, or `fmt`, or what `Accept` prefers; NDJSON where
 * nothing acceptable is asked for.
 * @throws LoggiaError `bad_parameter` for an unknown one
 */
export function exportFormat(query: URLSearchParams, accept: string | undefined): ExportFormat {
  const name = ["format", "fmt"].find((parameter) => (query.get(parameter) ?? "") !== "");
  if (name === undefined) return preferred(accept ?? "", MEDIA_TYPES) ?? "ndjson";
  const asked = query.get(name)!.toLowerCase();
  // What other addresses answer as JSON is a line for each record here.
  if (name === "fmt" && asked === "json") return "ndjson";
  const known = EXPORT_FORMATS.find((format) => format === asked);
  if (known !== undefined) return known;
  throw badParameter(name, asked, "ndjson, csv or xml");
}

/** How records of one kind are written in each format. */
export type RecordKind<Item> = {
  /** The element of a record in XML. */
  readonly element: string;
  /** The header row of CSV. */
  readonly header: readonly string[];
  readonly json: (item: Item) => string;
  readonly cells: (item: Item) => readonly string[];
  readonly xml: (item: Item) => XmlValue;
};

export type RecordWriter<Item> = {
  readonly contentType: string;
  /** What stands before the first record. */
  readonly head: string;
  readonly write: (item: Item) => string;
  /** What stands after the last. */
  readonly tail: string;
};

export function writerOf<Item>(format: ExportFormat, kind: RecordKind<Item>): RecordWriter<Item> {
  switch (format) {
    case "ndjson":
      return {
        contentType: "application/x-ndjson; charset=utf-8",
        head: "",
        write: (item) => `${kind.json(item)}\n`,
        tail: "",
      };
    case "csv":
      return {
        contentType: "text/csv; charset=utf-8; header=present",
        head: csvLine(kind.header),
        write: (item) => csvLine(kind.cells(item)),
        tail: "",
      };
    case "xml":
      return {
        contentType: "text/xml; charset=utf-8",
        head: `${XML_DECLARATION}<results>`,
        write: (item) => renderXml({ root: kind.element, content: kind.xml(item) }).slice(XML_DECLARATION.length),
        tail: "</results>\n",
      };
    default:
      return format satisfies never;
  }
}

/** Records that are objects of plain fields: groups and users. Moments are ISO 8601. */
export function plainRecords(
  element: string,
  header: readonly string[],
): RecordKind<{ readonly [field: string]: XmlValue }> {
  return {
    element,
    header,
    json: (record) => JSON.stringify(record, isoMoments),
    cells: (record) => header.map((name) => cellOf(record[name] ?? null)),
    xml: (record) => record,
  };
}

/** `JSON.stringify` asks a moment for its own form first, and shows the object it is of as `this`. */
function isoMoments(this: unknown, name: string, value: unknown): unknown {
  const own = (this as Readonly<Record<string, unknown>>)[name];
  return own instanceof Moment ? own.toString() : value;
}

/** Lists and objects become JSON: their items may hold any text. */
export function cellOf(value: XmlValue): string {
  if (value === null) return "";
  return typeof value !== "object" || value instanceof Moment ? value.toString() : JSON.stringify(value);
}
