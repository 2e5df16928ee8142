import type { Reply, Route } from "../../http/route.ts";
import { describeApi } from "./document.ts";

const PATH = { method: "GET", path: "/openapi.json", formats: "json" } as const;

/** The address of the OpenAPI document, open to everybody: it says no more than the source does. @param routes all others */
export function openApiRoute(routes: readonly Route[]): Route {
  let reply: Reply | undefined;
  return {
    ...PATH,
    handle: () => {
      reply ??= { status: 200, body: { json: describeApi([...routes, PATH]), xml: neverXml } };
      return Promise.resolve(reply);
    },
  };
}

function neverXml(): never {
  throw new Error("the OpenAPI document is JSON alone");
}
