import { LoggiaError } from "../errors.ts";
import { quote } from "../events/quote.ts";
import { renderXml } from "./xml.ts";
import type { XmlDocument } from "./xml.ts";

/** How an answer is written. JSONP is JSON handed to a function of the page that asked. */
export type Format =
  { readonly kind: "json" } | { readonly kind: "xml" } | { readonly kind: "jsonp"; readonly callback: string };

/** What an answer says, made for the one format that is asked for: text for JSON and JSONP, a document for XML. */
export type Body = { readonly json: () => string; readonly xml: () => XmlDocument };

/** A value as JSON. */
export function jsonOf(value: unknown): Body["json"] {
  return () => JSON.stringify(value);
}

export const JSON_FORMAT: Format = Object.freeze({ kind: "json" });
const XML_FORMAT: Format = Object.freeze({ kind: "xml" });

export const CONTENT_TYPES = {
  json: "application/json; charset=utf-8",
  xml: "text/xml; charset=utf-8",
  jsonp: "application/javascript; charset=utf-8",
} as const satisfies Record<Format["kind"], string>;

const MEDIA_TYPES: readonly { readonly type: string; readonly format: Format }[] = [
  { type: "application/json", format: JSON_FORMAT },
  { type: "text/xml", format: XML_FORMAT },
  { type: "application/xml", format: XML_FORMAT },
];

const CALLBACK =
  /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*(\.[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*)*$/u;
const CALLBACK_LENGTH = 128;

/**
 * The format that a request asks for: `fmt` before `Accept`, by quality values; JSON where nothing
 * acceptable is asked for.
 * @throws LoggiaError `bad_parameter` for an unknown `fmt`, or a `callback` that is no dotted
 * JavaScript identifier
 */
export function negotiate(query: URLSearchParams, accept: string | undefined): Format {
  const fmt = query.get("fmt") ?? "";
  switch (fmt.toLowerCase()) {
    case "":
      return preferred(accept ?? "", MEDIA_TYPES) ?? JSON_FORMAT;
    case "json":
      return JSON_FORMAT;
    case "xml":
      return XML_FORMAT;
    case "jsonp":
      return { kind: "jsonp", callback: parseCallback(query.get("callback") ?? "") };
    default:
      throw new LoggiaError("bad_parameter", `The parameter fmt is ${quote(fmt)}; it must be json, xml or jsonp`);
  }
}

/** Whether a request asks for HTML, which few routes have, and none by `Accept`. */
export function asksForHtml(query: URLSearchParams): boolean {
  return query.get("fmt")?.toLowerCase() === "html";
}

/** The bytes of an answer, and their content type. */
export function render(format: Format, body: Body): { readonly contentType: string; readonly payload: string } {
  const contentType = CONTENT_TYPES[format.kind];
  switch (format.kind) {
    case "json":
      return { contentType, payload: body.json() };
    case "xml":
      return { contentType, payload: renderXml(body.xml()) };
    case "jsonp":
      return { contentType, payload: wrapJsonp(format.callback, body.json()) };
    default:
      return format satisfies never;
  }
}

/**
 * A script that calls `callback` with `json`. The comment keeps what stands first in the body from
 * being read as anything else (plug-ins that sniff for their own signatures); U+2028 and U+2029
 * ended a line of older JavaScript.
 */
export function wrapJsonp(callback: string, json: string): string {
  return `/**/${callback}(${escapeLines(json)});`;
}

export function escapeLines(json: string): string {
  return json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

function parseCallback(callback: string): string {
  if (callback.length <= CALLBACK_LENGTH && CALLBACK.test(callback)) return callback;
  throw new LoggiaError(
    "bad_parameter",
    "With fmt=jsonp, the parameter callback must be JavaScript identifiers joined by dots, " +
      `at most ${CALLBACK_LENGTH} characters, for instance page.show`,
  );
}

/**
 * The format that `Accept` prefers; null where none is acceptable.
 * @param types media types and what they stand for; on a tie the first wins
 */
export function preferred<Item>(
  accept: string,
  types: readonly { readonly type: string; readonly format: Item }[],
): Item | null {
  let best: { format: Item | null; quality: number; precision: number } = { format: null, quality: 0, precision: 0 };
  const ranges = parseAccept(accept);
  for (const { type, format } of types) {
    const { quality, precision } = preference(ranges, type);
    if (quality > best.quality || (quality === best.quality && quality > 0 && precision > best.precision)) {
      best = { format, quality, precision };
    }
  }
  return best.format;
}

/** How much a media type is wanted: the quality of the most precise range that covers it. */
function preference(ranges: ReadonlyMap<string, number>, type: string): { quality: number; precision: number } {
  const candidates = ["*/*", `${type.slice(0, type.indexOf("/"))}/*`, type];
  for (let precision = candidates.length - 1; precision >= 0; precision--) {
    const quality = ranges.get(candidates[precision] as string);
    if (quality !== undefined) return { quality, precision };
  }
  return { quality: 0, precision: 0 };
}

/**
 * The ranges of an `Accept` or `Accept-Encoding` header with their quality, from 0 to 1; one that
 * cannot be read counts as 1.
 */
export function parseAccept(header: string): ReadonlyMap<string, number> {
  const ranges = new Map<string, number>();
  for (const part of header.split(",")) {
    const [range = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    if (range === "") continue;
    const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    const value = quality === undefined || !/^[01](\.\d{0,3})?$/.test(quality) ? 1 : Math.min(Number(quality), 1);
    ranges.set(range, Math.max(value, ranges.get(range) ?? 0));
  }
  return ranges;
}
