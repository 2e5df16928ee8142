import { apiEndpoints } from "../../src/api/endpoints.ts";
import type { Endpoint } from "../../src/api/endpoint.ts";
import { POSTING_ENDPOINTS } from "../../src/api/openapi/posting.ts";

/** Endpoints of the API listener, by method and path. */
export const API_ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map(
  apiEndpoints().map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]),
);

/** Endpoints of the posting listener, by method and path with `post:/1` in front. */
export const POST_ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map(
  POSTING_ENDPOINTS.map((endpoint) => [`${endpoint.method} post:/1${endpoint.path}`, endpoint]),
);
