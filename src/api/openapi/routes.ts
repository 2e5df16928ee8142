import { CONTENT_TYPES } from "../../http/formats.ts";
import type { Reply, Route } from "../../http/route.ts";
import { describeApi } from "./document.ts";

const PATH = { method: "GET", path: "/openapi.json", formats: "json" } as const;

/**
 * Serves the OpenAPI document. It is public, as it reveals no more than the source code.
 * @param routes all other routes
 */
export function openApiRoute(routes: readonly Route[]): Route {
  let reply: Reply | undefined;
  // Built once, as anyone may request it at any rate.
  const write = (): Reply => {
    const payload = Buffer.from(JSON.stringify(describeApi([...routes, PATH])));
    return { status: 200, body: { contentType: CONTENT_TYPES.json, payload } };
  };
  return { ...PATH, handle: () => Promise.resolve((reply ??= write())) };
}
