import { request } from "node:http";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

import { ADMIN } from "./service.ts";
import type { Service } from "./service.ts";

export type Asked = {
  readonly method?: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Request body, sent as JSON. */
  readonly json?: unknown;
  readonly body?: string;
};
export type Answered = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };

/** Sends a request with exactly the given headers, as a browser would send them. */
export function ask({ apiUrl }: Pick<Service, "apiUrl">, asked: Asked): Promise<Answered> {
  const { method = "GET", path, headers = {}, json, body = json === undefined ? "" : JSON.stringify(json) } = asked;
  const type = json === undefined ? {} : { "Content-Type": "application/json" };
  const length = body === "" ? {} : { "Content-Length": Buffer.byteLength(body) };
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const sent = request(`${apiUrl}${path}`, { method, headers: { ...type, ...length, ...headers }, agent: false });
  sent.on("error", reject).on("response", (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    response.on("error", reject);
    response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, text }));
  });
  sent.end(body);
  return promise;
}

/** Signs in and returns the response. */
export function signIn(
  service: Pick<Service, "apiUrl">,
  given: { readonly email?: string; readonly password?: string; readonly headers?: OutgoingHttpHeaders } = {},
): Promise<Answered> {
  const { email = ADMIN.email, password = ADMIN.password, headers = {} } = given;
  return ask(service, { method: "POST", path: "/1/session", json: { email, password }, headers });
}

/** Returns the cookie set by a response, as the browser sends it back. */
export function cookieOf({ headers }: Answered): string {
  const [cookie = ""] = headers["set-cookie"] ?? [];
  return cookie.split(";", 1)[0]!;
}

/** Returns the headers of the page's own requests with a session cookie. */
export function fromPage(cookie: string): OutgoingHttpHeaders {
  return { Cookie: cookie, "X-Loggia": "1", "Sec-Fetch-Site": "same-origin" };
}
