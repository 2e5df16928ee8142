import { LoggiaError } from "../errors.ts";
import type { UserId } from "../events/event.ts";
import type { RecordSource } from "../query/plan.ts";
import { eventIdParameter } from "./context.ts";
import type { ApiCall } from "./context.ts";
import { defineRoute } from "./define-route.ts";
import { PLAIN, showsAttributes } from "./event-view.ts";
import { listRecords, PAGE_ANSWER } from "./list.ts";
import { NO_CONTENT, REMOVED_ANSWER } from "./replies.ts";
import { EventRecord } from "./schemas/event-answers.ts";
import { EventListQuery, NewBookmark, ShownQuery } from "./schemas/inputs.ts";
import { writeEvent } from "./written-events.ts";

const base = { tag: "bookmarks" } as const;

export const BOOKMARK_ROUTES = [
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/bookmarks",
    who: "account",
    id: "listAllBookmarks",
    summary: "List the caller's bookmarks in all logs",
    query: EventListQuery,
    answers: { 200: PAGE_ANSWER },
    errors: ["unsupported"],
    async handle(context, call) {
      const { id: user } = call.access;
      const logs = context.catalog.logsOf(user).map((log) => log.key);
      return await listRecords(context, call, { from: bookmarksOf(user), logs });
    },
  }),
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/:log/bookmarks",
    who: "log member",
    id: "listBookmarks",
    summary: "List the caller's bookmarks in a log",
    query: EventListQuery,
    answers: { 200: PAGE_ANSWER },
    errors: ["unsupported"],
    async handle(context, call) {
      const { account, log } = call.access;
      return await listRecords(context, call, { from: bookmarksOf(account.id), logs: [log.key] });
    },
  }),
  defineRoute({
    ...base,
    method: "POST",
    path: "/1/logs/:log/bookmarks",
    who: "log member",
    id: "createBookmark",
    summary: "Bookmark an event of the log; repeating it changes nothing",
    form: NewBookmark,
    answers: { 201: { what: "The event", schema: EventRecord, headers: ["Location"] } },
    errors: ["event_not_found"],
    async handle({ store }, call) {
      const { account, log } = call.access;
      const { id } = await call.input();
      const added = await store.addBookmark(account.id, log.key, id);
      const row = added ? await store.find({ kind: "events" }, log.key, id) : null;
      if (row === null) throw new LoggiaError("event_not_found", `There is no event ${id} in the log ${log.key}`);
      const annotations = await store.annotations([id]);
      const headers = { Location: `/1/logs/${log.key}/bookmarks/${id}` };
      return { status: 201, body: await writeEvent(call, row, { annotations, shape: PLAIN }), headers };
    },
  }),
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/:log/bookmarks/:id",
    who: "log member",
    id: "readBookmark",
    summary: "Read one of the caller's bookmarks",
    query: ShownQuery,
    answers: { 200: { what: "The event", schema: EventRecord } },
    errors: ["bookmark_not_found"],
    async handle({ store }, call) {
      const { account, log } = call.access;
      const shape = { columns: null, attributes: showsAttributes(call.query) };
      const id = eventIdParameter(call);
      const row = id === null ? null : await store.find(bookmarksOf(account.id), log.key, id);
      if (row === null) throw bookmarkNotFound(call);
      const annotations = await store.annotations([row.id]);
      return { status: 200, body: await writeEvent(call, row, { annotations, shape }) };
    },
  }),
  defineRoute({
    ...base,
    method: "DELETE",
    path: "/1/logs/:log/bookmarks/:id",
    who: "log member",
    id: "deleteBookmark",
    summary: "Remove a bookmark; the event stays",
    answers: { 204: REMOVED_ANSWER },
    errors: ["bookmark_not_found"],
    async handle({ store }, call) {
      const { account, log } = call.access;
      const id = eventIdParameter(call);
      if (id === null || !(await store.deleteBookmark(account.id, log.key, id))) throw bookmarkNotFound(call);
      return NO_CONTENT;
    },
  }),
];

function bookmarksOf(user: UserId): RecordSource {
  return { kind: "bookmarks", user };
}

function bookmarkNotFound(call: ApiCall): LoggiaError {
  return new LoggiaError("bookmark_not_found", `You have no such bookmark in the log ${call.params["log"]}`);
}
