import type { IncomingHttpHeaders } from "node:http";

/**
 * Matches the user agents of all browsers, as each names its engine. Browser requests over plain
 * HTTP may lack both `Sec-Fetch-Site` and `Origin`.
 */
const ENGINES = /\b(?:AppleWebKit|Gecko|Trident)\//;

/** Whether a request comes from a browser. */
export function isFromBrowser({
  "sec-fetch-site": site,
  origin,
  "user-agent": agent = "",
}: IncomingHttpHeaders): boolean {
  return site !== undefined || origin !== undefined || ENGINES.test(agent);
}
