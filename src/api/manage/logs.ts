import type { Log } from "../../catalog/catalog.ts";
import { planUserPage } from "../../query/filters.ts";
import { withPages } from "../list.ts";
import { ok } from "../replies.ts";
import { ManagedLogRecord, MemberLogList, TrackedUserList } from "../schemas/answers.ts";
import { LogChange, PageQuery } from "../schemas/inputs.ts";
import { runUsers } from "../users.ts";
import { managed } from "./managed.ts";

export const MANAGED_LOG_ROUTES = [
  managed({
    method: "GET",
    path: "/manage/1/logs",
    who: "account",
    id: "listManagedLogs",
    summary: "List the logs that are shared with the caller, with plan and role",
    answers: { 200: { what: "The logs, by key", schema: MemberLogList } },
    handle: ({ catalog }, { access: { id } }) =>
      ok(catalog.logsOf(id).map((log) => ({ ...showLog(log), role: catalog.roleOf(id, log.key) }))),
  }),
  managed({
    method: "GET",
    path: "/manage/1/logs/:log",
    who: "log admin",
    id: "readManagedLog",
    summary: "Read a log with its plan; for its admins",
    answers: { 200: { what: "The log", schema: ManagedLogRecord } },
    handle: (_, { access: { log } }) => ok(showLog(log)),
  }),
  managed({
    method: "PATCH",
    path: "/manage/1/logs/:log",
    who: "log admin",
    id: "changeLog",
    summary: "Change the settings of a log; for its admins",
    json: LogChange,
    answers: { 200: { what: "The log", schema: ManagedLogRecord } },
    async handle({ catalog }, { access: { log }, input }) {
      const { display, retentionDays, origins } = await input();
      const changed = await catalog.updateLog(log.key, {
        ...(display !== undefined && { display }),
        ...(retentionDays !== undefined && { retentionDays }),
        ...(origins !== undefined && { origins }),
      });
      return ok(showLog(changed));
    },
  }),
  managed({
    method: "GET",
    path: "/manage/1/logs/:log/users",
    who: "log member",
    id: "listTrackedUsers",
    summary: "List the users that the producer's application has reported",
    query: PageQuery,
    answers: {
      200: {
        what: "A page of users, by name",
        schema: TrackedUserList,
        headers: ["X-Total-Count", "X-Total-At-Least", "Link", "X-Loggia-Hint"],
      },
    },
    async handle(context, call) {
      const plan = planUserPage(call.query, [call.access.log.key]);
      const { reply, total } = await runUsers(context, call, plan);
      return withPages(reply, call, plan, total);
    },
  }),
];

function showLog({ key, display, plan, retentionDays, origins }: Log) {
  return { key, display, plan, retentionDays, origins };
}
