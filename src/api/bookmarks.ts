import { requireAccount, requireMember } from "../catalog/permissions.ts";
import { LoggiaError } from "../errors.ts";
import type { UserId } from "../events/event.ts";
import type { Route } from "../http/route.ts";
import type { RecordSource } from "../query/plan.ts";
import { authenticated, eventIdOf, logKeyOf, NO_CONTENT } from "./context.ts";
import type { ApiCall, Context } from "./context.ts";
import { PLAIN, showsAttributes } from "./event-view.ts";
import { readForm } from "./input.ts";
import { listRecords } from "./list.ts";
import { NewBookmark } from "./schemas/inputs.ts";
import { writeEvent } from "./written-events.ts";

export function bookmarkRoutes(context: Context): Route[] {
  const { catalog, store } = context;
  return [
    authenticated(context, "GET", "/1/logs/bookmarks", async (call) => {
      const { id: user } = requireAccount(call.caller);
      const logs = catalog.logsOf(user).map((log) => log.key);
      return await listRecords(context, call, { from: bookmarksOf(user), logs });
    }),
    authenticated(context, "GET", "/1/logs/:log/bookmarks", async (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      return await listRecords(context, call, { from: bookmarksOf(account.id), logs: [log.key] });
    }),
    authenticated(context, "POST", "/1/logs/:log/bookmarks", createBookmark(context), { takesBody: true }),
    authenticated(context, "GET", "/1/logs/:log/bookmarks/:id", async (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      const shape = { columns: null, attributes: showsAttributes(call.query) };
      const id = eventIdOf(call);
      const row = id === null ? null : await store.find(bookmarksOf(account.id), log.key, id);
      if (row === null) throw bookmarkNotFound(call);
      const annotations = await store.annotations([row.id]);
      return { status: 200, body: await writeEvent(call, row, { annotations, shape }) };
    }),
    authenticated(context, "DELETE", "/1/logs/:log/bookmarks/:id", async (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      const id = eventIdOf(call);
      if (id === null || !(await store.deleteBookmark(account.id, log.key, id))) throw bookmarkNotFound(call);
      return NO_CONTENT;
    }),
  ];
}

function createBookmark(context: Context) {
  const { catalog, store } = context;
  return async (call: ApiCall) => {
    const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
    const { id } = await readForm(context, call, NewBookmark);
    const added = await store.addBookmark(account.id, log.key, id);
    const row = added ? await store.find({ kind: "events" }, log.key, id) : null;
    if (row === null) throw new LoggiaError("event_not_found", `There is no event ${id} in the log ${log.key}`);
    const annotations = await store.annotations([id]);
    const headers = { Location: `/1/logs/${log.key}/bookmarks/${id}` };
    return { status: 201, body: await writeEvent(call, row, { annotations, shape: PLAIN }), headers };
  };
}

function bookmarksOf(user: UserId): RecordSource {
  return { kind: "bookmarks", user };
}

function bookmarkNotFound(call: ApiCall): LoggiaError {
  return new LoggiaError("bookmark_not_found", `You have no such bookmark in the log ${call.params["log"]}`);
}
