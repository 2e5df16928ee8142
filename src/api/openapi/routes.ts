import { CONTENT_TYPES } from "../../http/formats.ts";
import type { Reply } from "../../http/route.ts";
import { defineRoute } from "../define-route.ts";
import type { ApiEndpoint } from "../define-route.ts";
import { OpenApiDocument } from "../schemas/answers.ts";
import { describeApi } from "./document.ts";

/**
 * Serves the OpenAPI document. It is public, as it reveals no more than the source code.
 * @param others all other endpoints
 */
export function openApiRoute(others: readonly ApiEndpoint[]): ApiEndpoint {
  let reply: Reply | undefined;
  // Built once, as anyone may request it at any rate.
  const write = (): Reply => {
    const payload = Buffer.from(JSON.stringify(describeApi([...others, route])));
    return { status: 200, body: { contentType: CONTENT_TYPES.json, payload } };
  };
  const route = defineRoute({
    method: "GET",
    path: "/openapi.json",
    formats: "json",
    who: "anyone",
    id: "describeApi",
    tag: "description",
    summary: "This document",
    answers: { 200: { what: "An OpenAPI document", schema: OpenApiDocument } },
    handle: () => (reply ??= write()),
  });
  return route;
}
