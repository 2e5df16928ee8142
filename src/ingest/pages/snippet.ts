import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";

import { hasBody } from "../../http/body.ts";
import { endAfter } from "../../http/response-tracker.ts";

const PATH = /^(?:https?:\/\/[^/?]*)?\/loggia\.js(?:\?|$)/;
const SNIPPET = readFileSync(new URL("./loggia.min.js", import.meta.url));
/** Public content, so any page may load it. Browsers see a new release within an hour. */
const HEADERS = {
  "Content-Type": "text/javascript; charset=utf-8",
  "Content-Length": SNIPPET.length,
  "Cache-Control": "public, max-age=3600",
  "Access-Control-Allow-Origin": "*",
  "Cross-Origin-Resource-Policy": "cross-origin",
  "X-Content-Type-Options": "nosniff",
} as const;

/** Answers a request for the script that posts from browsers. Returns true if it did. */
export function answerSnippet(request: IncomingMessage, response: ServerResponse): boolean {
  const { method, url = "/" } = request;
  if ((method !== "GET" && method !== "HEAD") || !PATH.test(url)) return false;
  const close = hasBody(request);
  // The unread rest of the body would be taken for the next request.
  if (close) endAfter(request);
  response.writeHead(200, { ...HEADERS, ...(close && { Connection: "close" }) });
  response.end(method === "HEAD" ? undefined : SNIPPET);
  return true;
}
