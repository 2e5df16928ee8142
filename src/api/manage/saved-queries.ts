import type { Catalog, OwnedQuery, SavedQuery } from "../../catalog/catalog.ts";
import { savedQueryNotFound } from "../../catalog/saved-queries.ts";
import type { LogKey } from "../../events/event.ts";
import { planQuery } from "../../query/planner.ts";
import { parseZone } from "../../query/zone.ts";
import type { ApiCall, Context } from "../context.ts";
import { created, NO_CONTENT, ok, REMOVED_ANSWER } from "../replies.ts";
import { SavedQueryList, SavedQueryRecord } from "../schemas/answers.ts";
import { NewSavedQuery, SavedQueryFields } from "../schemas/inputs.ts";
import { managed } from "./managed.ts";

const base = { path: "/manage/1/logs/:log/queries", who: "log member" } as const;
const named = { path: "/manage/1/logs/:log/queries/:name", who: "log member" } as const;

/** Routes of saved queries: the caller's own, and those shared by members of the log. */
export const SAVED_QUERY_ROUTES = [
  managed({
    ...base,
    method: "GET",
    id: "listSavedQueries",
    summary: "List the caller's saved queries of a log, and those shared by others",
    answers: { 200: { what: "The saved queries, by name", schema: SavedQueryList } },
    handle: ({ catalog }, { access: { account, log } }) =>
      ok(catalog.savedQueries(log.key, account.id).map((query) => show(catalog, query))),
  }),
  managed({
    ...base,
    method: "POST",
    id: "saveQuery",
    summary: "Save a query under a name",
    json: NewSavedQuery,
    answers: { 201: { what: "The saved query", schema: SavedQueryRecord, headers: ["Location"] } },
    errors: ["bad_query", "saved_query_exists", "conflict"],
    async handle(context, { access: { account, log }, input }) {
      const { catalog } = context;
      const wanted = await input();
      requireReadableQuery(context, log.key, wanted);
      const saved = await catalog.saveQuery(log.key, account.id, wanted);
      const location = `/manage/1/logs/${log.key}/queries/${encodeURIComponent(saved.name)}`;
      return created(location, show(catalog, { ...saved, owner: account.id }));
    },
  }),
  managed({
    ...named,
    method: "GET",
    id: "readSavedQuery",
    summary: "Read a saved query: the caller's own, or one shared by another user",
    answers: { 200: { what: "The saved query", schema: SavedQueryRecord } },
    errors: ["saved_query_not_found"],
    handle({ catalog }, call) {
      const { account, log } = call.access;
      const query = catalog.savedQuery(log.key, account.id, nameOf(call));
      if (query === null) throw savedQueryNotFound(log.key, nameOf(call));
      return ok(show(catalog, query));
    },
  }),
  managed({
    ...named,
    method: "PUT",
    id: "changeSavedQuery",
    summary: "Change one of the caller's own saved queries; a given name renames it",
    json: SavedQueryFields,
    answers: { 200: { what: "The saved query", schema: SavedQueryRecord } },
    errors: ["bad_query", "saved_query_not_found", "saved_query_exists"],
    async handle(context, call) {
      const { catalog } = context;
      const { account, log } = call.access;
      const wanted = await call.input();
      requireReadableQuery(context, log.key, wanted);
      const saved = await catalog.updateSavedQuery(log.key, account.id, nameOf(call), wanted);
      return ok(show(catalog, { ...saved, owner: account.id }));
    },
  }),
  managed({
    ...named,
    method: "DELETE",
    id: "deleteSavedQuery",
    summary: "Remove one of the caller's own saved queries",
    answers: { 204: REMOVED_ANSWER },
    errors: ["saved_query_not_found"],
    async handle({ catalog }, call) {
      const { account, log } = call.access;
      await catalog.deleteSavedQuery(log.key, account.id, nameOf(call));
      return NO_CONTENT;
    },
  }),
];

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
