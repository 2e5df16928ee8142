import { defineRoute, unsupported } from "./define-route.ts";
import { LogList, LogRecord } from "./schemas/answers.ts";
import { NewLog } from "./schemas/inputs.ts";
import { showLog, showLogs } from "./view.ts";

const base = { tag: "logs" } as const;

export const LOG_ROUTES = [
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs",
    who: "reader",
    id: "listLogs",
    summary: "List the logs that the caller may read",
    answers: { 200: { what: "The logs, by key", schema: LogList } },
    handle: (_, { access: logs }) => ({ status: 200, body: showLogs(logs) }),
  }),
  defineRoute({
    ...base,
    method: "POST",
    path: "/1/logs",
    who: "account",
    id: "createLog",
    summary: "Create a log with one read-write API key; the caller becomes its admin",
    form: NewLog,
    answers: { 201: { what: "The log", schema: LogRecord, headers: ["Location"] } },
    errors: ["log_exists"],
    async handle({ catalog }, { access: owner, input }) {
      const { key, display } = await input();
      const { log } = await catalog.createLog({ key, display, owner: owner.id });
      return { status: 201, body: showLog(log), headers: { Location: `/1/logs/${log.key}` } };
    },
  }),
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/:log",
    who: "log reader",
    id: "readLog",
    summary: "Read a log",
    answers: { 200: { what: "The log", schema: LogRecord } },
    handle: (_, { access: log }) => ({ status: 200, body: showLog(log) }),
  }),
  defineRoute({
    ...base,
    method: "DELETE",
    path: "/1/logs/:log",
    who: "log caller",
    id: "deleteLog",
    summary: "Always rejected: logs cannot be deleted",
    answers: {},
    errors: ["unsupported"],
    handle: unsupported("Logs cannot be deleted"),
  }),
];
