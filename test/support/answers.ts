/** An answer to a post, and what a producer makes of it. */
export type AnswerCase = {
  readonly name: string;
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Loggia's body of an error. */
export function errorBody(status: number, code: string): string {
  return JSON.stringify({ error: { status, code, message: `${code} it is` } });
}

/** Answers of proxies and other servers, after which a post is repeated. */
export const FOREIGN_ANSWERS: readonly AnswerCase[] = [
  { name: "a page of nginx", status: 404, body: "<html><head><title>404 Not Found</title></head></html>" },
  { name: "a redirection", status: 301, body: "<h1>Moved</h1>", headers: { Location: "https://in.example.org/" } },
  { name: "a temporary redirection", status: 302, body: "", headers: { Location: "/sign-in" } },
  { name: "another method", status: 405, body: "<h1>405 Not Allowed</h1>" },
  { name: "a proxy's limit", status: 413, body: "<h1>413 Request Entity Too Large</h1>" },
  { name: "a proxy's password", status: 401, body: "Unauthorized" },
  { name: "a firewall", status: 403, body: "<h1>Access denied</h1>" },
  { name: "a page with 200", status: 200, body: "<!doctype html><title>Maintenance</title>" },
  { name: "a page with 201", status: 201, body: "<!doctype html><title>Welcome</title>" },
  { name: "JSON with 200", status: 200, body: '{"accepted":1,"rejected":0,"items":[]}' },
  { name: "another error body", status: 400, body: '{"error":"bad request"}' },
  { name: "an error body of another status", status: 400, body: errorBody(404, "log_not_found") },
  { name: "no body", status: 204, body: "" },
  { name: "JSON that is null", status: 404, body: "null" },
];

/** Answers of Loggia after which a post is repeated. */
export const PASSING_ANSWERS: readonly AnswerCase[] = [
  { name: "too many requests", status: 429, body: errorBody(429, "too_many_requests") },
  { name: "the bus is away", status: 503, body: errorBody(503, "bus_unavailable") },
  { name: "an internal error", status: 500, body: errorBody(500, "internal_error") },
  { name: "a slow request", status: 408, body: errorBody(408, "request_timeout") },
  { name: "another method, by Loggia", status: 405, body: errorBody(405, "method_not_allowed") },
];

/** Answers with which Loggia refuses a post for good. */
export const FINAL_ANSWERS: readonly AnswerCase[] = [
  { name: "a bad body", status: 400, body: errorBody(400, "bad_body") },
  { name: "a wrong key", status: 401, body: errorBody(401, "unauthorized") },
  { name: "a key that may not post", status: 403, body: errorBody(403, "forbidden") },
  { name: "an unknown address", status: 404, body: errorBody(404, "path_not_found") },
  { name: "another body under the key", status: 409, body: errorBody(409, "conflict") },
  { name: "a body that is too large", status: 413, body: errorBody(413, "body_too_large") },
  { name: "another content type", status: 415, body: errorBody(415, "unsupported_media_type") },
];
