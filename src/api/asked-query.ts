import { savedQueryNotFound } from "../catalog/saved-queries.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import { shorten } from "../events/quote.ts";
import { isFilter } from "../query/filters.ts";
import type { ApiCall, Context } from "./context.ts";

/** A query in LQL and the parameter `tz` that it is asked with. */
export type AskedQuery = { readonly text: string; readonly tz: string | null };

/**
 * The query that a call asks: `query`, or the saved query that `saved` names; null where there is
 * neither. The parameter `tz` wins over the zone that was saved.
 * @throws LoggiaError `bad_parameter` for both at once, `saved_query_not_found`
 */
export function readAskedQuery({ catalog }: Pick<Context, "catalog">, call: ApiCall, log: LogKey): AskedQuery | null {
  const text = call.query.get("query");
  const name = call.query.get("saved");
  const tz = call.query.get("tz");
  if (text !== null && name !== null) {
    throw new LoggiaError("bad_parameter", "Both query and saved are there; a call asks one of them");
  }
  if (text !== null) return { text, tz };
  if (name === null) return null;
  const { caller } = call;
  const saved = catalog.savedQuery(log, caller.kind === "account" ? caller.account.id : null, name);
  if (saved === null) throw savedQueryNotFound(log, name);
  return { text: saved.query, tz: tz ?? saved.tz };
}

/**
 * As {@link readAskedQuery}, where a call without a query is one with list parameters.
 * @throws LoggiaError `bad_parameter` for both at once: a filter that is ignored would show more than was asked for
 */
export function readQueryOrFilters(context: Pick<Context, "catalog">, call: ApiCall, log: LogKey): AskedQuery | null {
  const asked = readAskedQuery(context, call, log);
  const filter = asked === null ? undefined : [...call.query.keys()].find(isFilter);
  if (filter === undefined) return asked;
  throw new LoggiaError(
    "bad_parameter",
    `The parameter ${shorten(filter)} is for lists; with a query it stands in WHERE`,
  );
}
