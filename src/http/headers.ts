import type { OutgoingHttpHeaders } from "node:http";

/**
 * Headers of every response. `no-cache` is for old clients; URLs may hold keys, so no cache may
 * store a response.
 */
export const COMMON_HEADERS: Readonly<OutgoingHttpHeaders> = Object.freeze({
  "Cache-Control": "no-cache, no-store",
  Pragma: "no-cache",
  Expires: "-1",
  "X-Content-Type-Options": "nosniff",
});
