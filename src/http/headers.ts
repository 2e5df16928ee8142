import type { OutgoingHttpHeaders } from "node:http";

/** What every answer carries: nobody keeps it, and no browser guesses what it might be. */
export const COMMON_HEADERS: Readonly<OutgoingHttpHeaders> = Object.freeze({
  "Cache-Control": "no-cache",
  Pragma: "no-cache",
  Expires: "-1",
  "X-Content-Type-Options": "nosniff",
});
