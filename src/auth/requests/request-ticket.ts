import { isGeneratedSecret } from "../secrets.ts";
import { LoggiaError } from "../../errors.ts";
import { quote } from "../../events/quote.ts";
import type { Call } from "../../http/route.ts";

const PARAMETER = "ticket";
const PATHS = /^\/(?:manage\/)?1\/(?!sessions?(?:\/|$))/;
const PATH_LENGTH = 16_000;
const NOWHERE = "http://localhost";

/** Returns the ticket of a request if it is well-formed. */
export function requestTicket({ request, query }: Pick<Call, "request" | "query">): string | null {
  const ticket = query.get(PARAMETER) ?? "";
  return request.method === "GET" && isGeneratedSecret(ticket) ? ticket : null;
}

/** Returns the request's path and query without the ticket, in one encoding. */
export function pathWithoutTicket({ path, query }: Pick<Call, "path" | "query">): string {
  const others = [...query].filter(([name]) => name !== PARAMETER);
  return `${path}?${new URLSearchParams(others).toString()}`;
}

/**
 * Returns the path that a ticket is requested for, in the form of {@link pathWithoutTicket}.
 * @throws LoggiaError `bad_parameter` if no ticket can be valid for it
 */
export function readTicketPath(path: string): string {
  const url = path.length <= PATH_LENGTH && path.startsWith("/") ? URL.parse(path, NOWHERE) : null;
  if (url === null || url.origin !== NOWHERE || url.hash !== "" || !PATHS.test(url.pathname)) {
    const right = "a path of this API with its query string, such as /1/logs/shop/export?format=csv";
    throw new LoggiaError("bad_parameter", `The field path is ${quote(path)}; it must be ${right}`);
  }
  if (url.searchParams.has(PARAMETER)) {
    throw new LoggiaError(
      "bad_parameter",
      "The field path must not contain the parameter ticket, which is added to it",
    );
  }
  return pathWithoutTicket({ path: url.pathname, query: url.searchParams });
}
