import { isDrawnSecret } from "../catalog/secrets.ts";
import { LoggiaError } from "../errors.ts";
import { quote } from "../events/quote.ts";
import type { Call } from "../http/route.ts";

const PARAMETER = "ticket";
const PATHS = /^\/(?:manage\/)?1\/(?!sessions?(?:\/|$))/;
const PATH_LENGTH = 16_000;
const NOWHERE = "http://localhost";

/** The ticket of a request that has the form of one. */
export function ticketOf({ request, query }: Pick<Call, "request" | "query">): string | null {
  const ticket = query.get(PARAMETER) ?? "";
  return request.method === "GET" && isDrawnSecret(ticket) ? ticket : null;
}

/** What a request asks for, besides its ticket: the same however its query string is encoded. */
export function askedPath({ path, query }: Pick<Call, "path" | "query">): string {
  const others = [...query].filter(([name]) => name !== PARAMETER);
  return `${path}?${new URLSearchParams(others).toString()}`;
}

/**
 * The path that a ticket is asked for, as {@link askedPath} has it.
 * @throws LoggiaError `bad_parameter` where no ticket can be for it
 */
export function readTicketPath(path: string): string {
  const url = path.length <= PATH_LENGTH && path.startsWith("/") ? URL.parse(path, NOWHERE) : null;
  if (url === null || url.origin !== NOWHERE || url.hash !== "" || !PATHS.test(url.pathname)) {
    const right = "a path of this API with its query string, such as /1/logs/shop/export?format=csv";
    throw new LoggiaError("bad_parameter", `The field path is ${quote(path)}; it must be ${right}`);
  }
  if (url.searchParams.has(PARAMETER)) {
    throw new LoggiaError("bad_parameter", "The field path may hold no parameter ticket: that is added to it");
  }
  return askedPath({ path: url.pathname, query: url.searchParams });
}
