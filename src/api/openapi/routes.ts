import { CONTENT_TYPES } from "../../http/formats.ts";
import type { Reply, Route } from "../../http/route.ts";
import { describeApi } from "./document.ts";

const PATH = { method: "GET", path: "/openapi.json", formats: "json" } as const;

/**
 * The address of the OpenAPI document, open to everybody: it says no more than the source does.
 * @param routes all others
 */
export function openApiRoute(routes: readonly Route[]): Route {
  let reply: Reply | undefined;
  // Written once: strangers may ask for it as often as they like.
  const write = (): Reply => {
    const payload = Buffer.from(JSON.stringify(describeApi([...routes, PATH])));
    return { status: 200, body: { contentType: CONTENT_TYPES.json, payload } };
  };
  return { ...PATH, handle: () => Promise.resolve((reply ??= write())) };
}
