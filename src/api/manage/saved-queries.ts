import type { Catalog, OwnedQuery, SavedQuery } from "../../catalog/catalog.ts";
import { requireMember } from "../../catalog/permissions.ts";
import { savedQueryNotFound } from "../../catalog/saved-queries.ts";
import type { LogKey, UserId } from "../../events/event.ts";
import type { Route } from "../../http/route.ts";
import { planQuery } from "../../query/planner.ts";
import { parseZone } from "../../query/zone.ts";
import { logKeyOf, NO_CONTENT } from "../context.ts";
import type { ApiCall, Context } from "../context.ts";
import { readJson } from "../input.ts";
import { NewSavedQuery, SavedQueryFields } from "../schemas/inputs.ts";
import { created, managed, ok } from "./json.ts";

/** Routes of saved queries: the caller's own, and those shared by members of the log. */
export function savedQueryRoutes(context: Context): Route[] {
  const { catalog } = context;
  const path = "/logs/:log/queries";
  const memberOf = (call: ApiCall): { user: UserId; log: LogKey } => {
    const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
    return { user: account.id, log: log.key };
  };
  return [
    managed(context, "GET", path, (call) => {
      const { user, log } = memberOf(call);
      return ok(catalog.savedQueries(log, user).map((query) => show(catalog, query)));
    }),
    managed(context, "POST", path, async (call) => {
      const { user, log } = memberOf(call);
      const wanted = await readJson(context, call, NewSavedQuery);
      requireReadableQuery(context, log, wanted);
      const saved = await catalog.saveQuery(log, user, wanted);
      const location = `/logs/${log}/queries/${encodeURIComponent(saved.name)}`;
      return created(location, show(catalog, { ...saved, owner: user }));
    }),
    managed(context, "GET", `${path}/:name`, (call) => {
      const { user, log } = memberOf(call);
      const query = catalog.savedQuery(log, user, nameOf(call));
      if (query === null) throw savedQueryNotFound(log, nameOf(call));
      return ok(show(catalog, query));
    }),
    managed(context, "PUT", `${path}/:name`, async (call) => {
      const { user, log } = memberOf(call);
      const wanted = await readJson(context, call, SavedQueryFields);
      requireReadableQuery(context, log, wanted);
      const saved = await catalog.updateSavedQuery(log, user, nameOf(call), wanted);
      return ok(show(catalog, { ...saved, owner: user }));
    }),
    managed(context, "DELETE", `${path}/:name`, async (call) => {
      const { user, log } = memberOf(call);
      await catalog.deleteSavedQuery(log, user, nameOf(call));
      return NO_CONTENT;
    }),
  ];
}

/** @throws LoggiaError `bad_query`, `bad_parameter`, as when the query is run */
function requireReadableQuery({ now }: Context, log: LogKey, { query, tz }: Pick<SavedQuery, "query" | "tz">): void {
  planQuery(query, { logs: [log], now_ms: now(), zone: parseZone(tz, "field") });
}

function show(catalog: Pick<Catalog, "accountById">, { name, query, tz, shared, owner }: OwnedQuery) {
  return { name, query, tz, shared, owner: catalog.accountById(owner)?.email ?? "" };
}

function nameOf(call: ApiCall): string {
  return call.params["name"] ?? "";
}
