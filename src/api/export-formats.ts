import type { EventRow, Geo } from "../events/event.ts";
import { renderXml, XML_DECLARATION } from "../http/xml.ts";
import { EVENT_FIELDS } from "../query/plan.ts";
import type { EventField } from "../query/plan.ts";
import type { Marks } from "../store/store.ts";
import { eventAsJson, eventElement, restOfEvent } from "./view.ts";

/** How an export writes events. */
export type ExportFormat = {
  readonly contentType: string;
  /** What stands before the first event. */
  readonly head: string;
  readonly event: (row: EventRow, marks: Marks | undefined) => string;
  /** What stands after the last. */
  readonly tail: string;
};

export const EXPORT_FORMATS = ["ndjson", "csv", "xml"] as const;
export type ExportFormatName = (typeof EXPORT_FORMATS)[number];

/** @param columns the fields to write, in the event's own order; null: all */
export function exportFormat(name: ExportFormatName, columns: readonly EventField[] | null): ExportFormat {
  switch (name) {
    case "ndjson":
      return {
        contentType: "application/x-ndjson; charset=utf-8",
        head: "",
        event: (row, marks) => `${eventAsJson(row, marks, columns, quotedIso)}\n`,
        tail: "",
      };
    case "csv":
      return csv(columns ?? EVENT_FIELDS);
    case "xml":
      return {
        contentType: "text/xml; charset=utf-8",
        head: `${XML_DECLARATION}<results>`,
        event: (row, marks) =>
          renderXml({ root: "event", content: eventElement(row, marks, columns) }).slice(XML_DECLARATION.length),
        tail: "</results>\n",
      };
    default:
      return name satisfies never;
  }
}

function quotedIso(ms: number): string {
  return `"${new Date(ms).toISOString()}"`;
}

/** CSV as RFC 4180 has it, with a header row. */
function csv(columns: readonly EventField[]): ExportFormat {
  return {
    contentType: "text/csv; charset=utf-8; header=present",
    head: csvLine(columns),
    event: (row, marks) => {
      const fields = { id: row.id, created: new Date(row.created).toISOString(), ...restOfEvent(row, marks) };
      return csvLine(columns.map((column) => cellOf(fields[column])));
    },
    tail: "",
  };
}

type CellValue = string | number | boolean | null | readonly string[] | Geo;

function cellOf(value: CellValue): string {
  if (value === null) return "";
  if (typeof value !== "object") return String(value);
  if ("ip" in value) return `ip:${value.ip}`;
  if ("lat" in value) return `${value.lat},${value.lon}`;
  return value.join(" ");
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)$/;
/** What spreadsheets take for a formula. */
const FORMULA = /^[=+\-@]/;
const QUOTED = /[",\r\n]/;

export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
