import { requireLogAdmin, requireReadable } from "../catalog/permissions.ts";
import { LoggiaError } from "../errors.ts";
import { asksForHtml } from "../http/formats.ts";
import type { Route } from "../http/route.ts";
import { authenticated, eventIdOf, logKeyOf, NO_CONTENT, unsupported } from "./context.ts";
import type { ApiCall, Context } from "./context.ts";
import { showsAttributes } from "./event-view.ts";
import { listRecords } from "./list.ts";
import { showData, showHtmlData } from "./view.ts";
import { writeEvent } from "./written-events.ts";

export function eventRoutes(context: Context): Route[] {
  const { catalog, store, deletions } = context;
  return [
    authenticated(context, "GET", "/1/logs/:log/events", async (call) => {
      const { key } = requireReadable(catalog, call.caller, logKeyOf(call));
      return await listRecords(context, call, { from: { kind: "events" }, logs: [key] });
    }),
    authenticated(
      context,
      "POST",
      "/1/logs/:log/events",
      unsupported(context, "Events are posted to the posting address, not to this one"),
    ),
    authenticated(context, "GET", "/1/logs/:log/events/:id", async (call) => {
      const { key } = requireReadable(catalog, call.caller, logKeyOf(call));
      const shape = { columns: null, attributes: showsAttributes(call.query) };
      const id = eventIdOf(call);
      const row = id === null ? null : await store.find({ kind: "events" }, key, id);
      if (row === null) throw eventNotFound(call);
      const annotations = await store.annotations([row.id]);
      return { status: 200, body: await writeEvent(call, row, { annotations, shape }) };
    }),
    authenticated(
      context,
      "GET",
      "/1/logs/:log/events/:id/data",
      async (call) => {
        const { key } = requireReadable(catalog, call.caller, logKeyOf(call));
        const id = eventIdOf(call);
        const data = id === null ? undefined : await store.data(key, id);
        if (data === undefined) throw eventNotFound(call);
        return asksForHtml(call.query) ? showHtmlData(data) : { status: 200, body: showData(data) };
      },
      { formats: "all and html" },
    ),
    authenticated(context, "DELETE", "/1/logs/:log/events/:id", async (call) => {
      const { log } = requireLogAdmin(catalog, call.caller, logKeyOf(call));
      const id = eventIdOf(call);
      const row = id === null ? null : await store.find({ kind: "events" }, log.key, id);
      if (row === null) throw eventNotFound(call);
      await deletions.append([{ log: log.key, event: row.id, alertOf: null }]);
      // The pipeline may have deleted it already.
      await store.deleteEvent(log.key, row.id);
      return NO_CONTENT;
    }),
  ];
}

export function eventNotFound(call: ApiCall): LoggiaError {
  return new LoggiaError("event_not_found", `There is no such event in the log ${call.params["log"]}`);
}
