/** The head of a request as it stands on the wire, where it is one of the plain ones. */
export type RequestHead = {
  readonly method: string;
  readonly target: string;
  /** By lower-case name. None comes twice. */
  readonly headers: ReadonlyMap<string, string>;
  /** Of the body that follows, in bytes. */
  readonly contentLength: number;
};

/** Producers send a dozen at the most. */
const HEADERS_MAX = 50;
const REQUEST_LINE = /^([A-Z]+) (\/[\x21-\x7e]*) HTTP\/1\.1$/;
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;
const LENGTH = /^\d{1,8}$/;
/** What changes where a body ends, who reads it, or what becomes of the connection. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  "transfer-encoding",
  "content-encoding",
  "expect",
  "upgrade",
  "trailer",
  "proxy-connection",
]);

/**
 * Reads a head of HTTP/1.1 that holds nothing but what can be understood in one way: null for every
 * other, be it wrong or only rare. Names and values keep to RFC 9112 §5, lines end in CRLF, no
 * header comes twice, there is one host, and the length of the body is told by `Content-Length`
 * alone.
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
