/** The head of a plain request as it is on the wire. */
export type RequestHead = {
  readonly method: string;
  readonly target: string;
  /** By lower-case name, each at most once. */
  readonly headers: ReadonlyMap<string, string>;
  /** Length of the body, in bytes. */
  readonly contentLength: number;
};

/** Maximum number of headers handled here. Producers send a dozen at most. */
const HEADERS_MAX = 50;
const REQUEST_LINE = /^([A-Z]+) (\/[\x21-\x7e]*) HTTP\/1\.1$/;
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;
const LENGTH = /^\d{1,8}$/;
/** Headers that change where a body ends, its encoding, or the fate of the connection. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  "transfer-encoding",
  "content-encoding",
  "expect",
  "upgrade",
  "trailer",
  "proxy-connection",
]);

/**
 * Parses a head of HTTP/1.1 that can be understood in only one way, and returns null for every
 * other one, be it invalid or just rare. Names and values follow RFC 9112 §5, lines end in CRLF, no
 * header occurs twice, there is one host, and only `Content-Length` gives the length of the body.
 *
 * @param text without the empty line that ends it
 */
export function parseRequestHead(text: string): RequestHead | null {
  const [first = "", ...lines] = text.split("\r\n");
  const [, method, target] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined || lines.length > HEADERS_MAX) return null;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 0) return null;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1);
    if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value) || NOT_PLAIN.has(name) || headers.has(name)) return null;
    headers.set(name, value.trim());
  }
  const length = headers.get("content-length") ?? "";
  const connection = headers.get("connection")?.toLowerCase() ?? "keep-alive";
  if (!LENGTH.test(length) || connection !== "keep-alive" || (headers.get("host") ?? "") === "") return null;
  return { method, target, headers, contentLength: Number(length) };
}
