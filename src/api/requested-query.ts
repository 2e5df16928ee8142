import { savedQueryNotFound } from "../catalog/saved-queries.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import { shorten } from "../events/quote.ts";
import { isFilter } from "../query/filters.ts";
import type { ApiCall, Context } from "./context.ts";

/** An LQL query with its parameter `tz`. */
export type RequestedQuery = { readonly text: string; readonly tz: string | null };

/**
 * Returns the query of a call: `query`, or the saved query named by `saved`; null if neither is
 * given. The parameter `tz` overrides the saved zone.
 * @throws LoggiaError `bad_parameter` if both are given, `saved_query_not_found`
 */
export function readRequestedQuery(
  { catalog }: Pick<Context, "catalog">,
  call: ApiCall,
  log: LogKey,
): RequestedQuery | null {
  const text = call.query.get("query");
  const name = call.query.get("saved");
  const tz = call.query.get("tz");
  if (text !== null && name !== null) {
    throw new LoggiaError("bad_parameter", "The parameters query and saved exclude each other; give one of them");
  }
  if (text !== null) return { text, tz };
  if (name === null) return null;
  const { caller } = call;
  const saved = catalog.savedQuery(log, caller.kind === "account" ? caller.account.id : null, name);
  if (saved === null) throw savedQueryNotFound(log, name);
  return { text: saved.query, tz: tz ?? saved.tz };
}

/**
 * Like {@link readRequestedQuery}, for calls that take list parameters if no query is given.
 * @throws LoggiaError `bad_parameter` if both are given: ignoring a filter would return more than
 * requested
 */
export function readQueryOrFilters(
  context: Pick<Context, "catalog">,
  call: ApiCall,
  log: LogKey,
): RequestedQuery | null {
  const asked = readRequestedQuery(context, call, log);
  const filter = asked === null ? undefined : [...call.query.keys()].find(isFilter);
  if (filter === undefined) return asked;
  throw new LoggiaError(
    "bad_parameter",
    `The parameter ${shorten(filter)} is for lists; with a query, write it in WHERE`,
  );
}
