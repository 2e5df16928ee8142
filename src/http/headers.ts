import type { OutgoingHttpHeaders } from "node:http";

/**
 * What every answer carries. Old clients know `no-cache`; addresses may hold keys, so no cache
 * stores an answer.
 */
export const COMMON_HEADERS: Readonly<OutgoingHttpHeaders> = Object.freeze({
  "Cache-Control": "no-cache, no-store",
  Pragma: "no-cache",
  Expires: "-1",
  "X-Content-Type-Options": "nosniff",
});
