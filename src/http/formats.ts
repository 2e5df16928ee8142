import { LoggiaError } from "../errors.ts";
import { quote } from "../events/quote.ts";
import { renderXml } from "./xml.ts";
import type { XmlDocument } from "./xml.ts";

/** Format of a response. JSONP is JSON passed to a function of the requesting page. */
export type Format =
  { readonly kind: "json" } | { readonly kind: "xml" } | { readonly kind: "jsonp"; readonly callback: string };

/**
 * Content of a response, rendered only in the requested format: text for JSON and JSONP, a document
 * for XML.
 */
export type Body = { readonly json: () => string; readonly xml: () => XmlDocument };

/** Returns a function that renders a value as JSON. */
export function jsonPayload(value: unknown): Body["json"] {
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
 * Returns the format that a request asks for: `fmt` takes precedence over `Accept` with its quality
 * values. The default, also if no acceptable format is asked for, is JSON.
 * @throws LoggiaError `bad_parameter` for an unknown `fmt`, or a `callback` that is no dotted
 *   JavaScript identifier
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

/** Whether a request asks for HTML. Few routes offer it, and none by `Accept`. */
export function asksForHtml(query: URLSearchParams): boolean {
  return query.get("fmt")?.toLowerCase() === "html";
}

/** Renders a body, with its content type. */
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
 * Returns a script that calls `callback` with `json`. The leading comment keeps plug-ins from
 * sniffing their own signatures in the body. U+2028 and U+2029 are escaped, as they end a line in
 * older JavaScript.
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
 * Returns the format that `Accept` prefers, or null if none is acceptable.
 * @param types media types and their formats; on a tie the first wins
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

/** Returns the quality and precision of the most precise range that covers a media type. */
function preference(ranges: ReadonlyMap<string, number>, type: string): { quality: number; precision: number } {
  const candidates = ["*/*", `${type.slice(0, type.indexOf("/"))}/*`, type];
  for (let precision = candidates.length - 1; precision >= 0; precision--) {
    const quality = ranges.get(candidates[precision] as string);
    if (quality !== undefined) return { quality, precision };
  }
  return { quality: 0, precision: 0 };
}

/**
 * Parses the ranges of an `Accept` or `Accept-Encoding` header with their quality, from 0 to 1. An
 * invalid quality counts as 1.
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
