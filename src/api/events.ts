import { LoggiaError } from "../errors.ts";
import { asksForHtml } from "../http/formats.ts";
import { eventIdParameter } from "./context.ts";
import type { ApiCall } from "./context.ts";
import { defineRoute, unsupported } from "./define-route.ts";
import { showsAttributes } from "./event-view.ts";
import { listRecords, PAGE_ANSWER } from "./list.ts";
import { NO_CONTENT, REMOVED_ANSWER } from "./replies.ts";
import { EventData, EventRecord } from "./schemas/event-answers.ts";
import { EventListQuery, ShownQuery } from "./schemas/inputs.ts";
import { showData, showHtmlData } from "./view.ts";
import { writeEvent } from "./written-events.ts";

const base = { tag: "events" } as const;

export const EVENT_ROUTES = [
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/:log/events",
    who: "log reader",
    id: "listEvents",
    summary: "List events of a log",
    query: EventListQuery,
    answers: { 200: PAGE_ANSWER },
    errors: ["unsupported"],
    handle: (context, call) => listRecords(context, call, { from: { kind: "events" }, logs: [call.access.key] }),
  }),
  defineRoute({
    ...base,
    method: "POST",
    path: "/1/logs/:log/events",
    who: "log caller",
    id: "createEvent",
    summary: "Always rejected: events are posted to the posting address",
    answers: {},
    errors: ["unsupported"],
    handle: unsupported("Events are posted to the posting address, not to this one"),
  }),
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/:log/events/:id",
    who: "log reader",
    id: "readEvent",
    summary: "Read an event of the log",
    query: ShownQuery,
    answers: { 200: { what: "The event", schema: EventRecord } },
    errors: ["event_not_found"],
    async handle({ store }, call) {
      const shape = { columns: null, attributes: showsAttributes(call.query) };
      const id = eventIdParameter(call);
      const row = id === null ? null : await store.find({ kind: "events" }, call.access.key, id);
      if (row === null) throw eventNotFound(call);
      const annotations = await store.annotations([row.id]);
      return { status: 200, body: await writeEvent(call, row, { annotations, shape }) };
    },
  }),
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/:log/events/:id/data",
    formats: "all and html",
    who: "log reader",
    id: "readEventData",
    summary: "Read the data of an event; with fmt=html, data after a line `@html` as a sandboxed document",
    answers: { 200: { what: "The data", schema: EventData } },
    errors: ["event_not_found", "unsupported"],
    async handle({ store }, call) {
      const id = eventIdParameter(call);
      const data = id === null ? undefined : await store.data(call.access.key, id);
      if (data === undefined) throw eventNotFound(call);
      return asksForHtml(call.query) ? showHtmlData(data) : { status: 200, body: showData(data) };
    },
  }),
  defineRoute({
    ...base,
    method: "DELETE",
    path: "/1/logs/:log/events/:id",
    who: "log admin",
    id: "deleteEvent",
    summary: "Delete an event, with its bookmarks and alerts; for admins of the log",
    answers: { 204: REMOVED_ANSWER },
    errors: ["event_not_found"],
    async handle({ store, deletions }, call) {
      const { key } = call.access.log;
      const id = eventIdParameter(call);
      const row = id === null ? null : await store.find({ kind: "events" }, key, id);
      if (row === null) throw eventNotFound(call);
      await deletions.append([{ log: key, event: row.id, alertOf: null }]);
      // The pipeline may have deleted it already.
      await store.deleteEvent(key, row.id);
      return NO_CONTENT;
    },
  }),
];

export function eventNotFound(call: ApiCall): LoggiaError {
  return new LoggiaError("event_not_found", `There is no such event in the log ${call.params["log"]}`);
}
