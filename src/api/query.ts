import { LoggiaError } from "../errors.ts";
import type { Reply } from "../http/route.ts";
import { writeLong } from "../http/streamed-list.ts";
import { planQuery } from "../query/planner.ts";
import type { PlannedGroups } from "../query/planned-query.ts";
import { parseZone } from "../query/zone.ts";
import type { ApiCall, Context } from "./context.ts";
import { defineRoute } from "./define-route.ts";
import { classHints, withHints } from "./hints.ts";
import { runList } from "./list.ts";
import { estimateGroupsSize, sizeOfGroups } from "./response-sizes.ts";
import { readRequestedQuery } from "./requested-query.ts";
import { QueryAnswer } from "./schemas/answers.ts";
import { LqlQuery } from "./schemas/inputs.ts";
import { runUsers } from "./users.ts";
import { answerGroups } from "./groups/answer.ts";
import { showGroups } from "./groups/view.ts";

export const QUERY_ROUTE = defineRoute({
  method: "GET",
  path: "/1/logs/:log/query",
  who: "log reader",
  id: "query",
  tag: "query",
  summary: "Query a log in LQL: with `query`, or the saved query named by `saved`",
  query: LqlQuery,
  answers: {
    200: {
      what: "Events, groups or tracked users",
      schema: QueryAnswer,
      headers: ["X-Total-Count", "X-Total-At-Least", "X-Loggia-Hint"],
    },
  },
  errors: ["saved_query_not_found", "log_not_found", "bad_query", "too_wide", "unsupported"],
  async handle(context, call) {
    const { key } = call.access;
    const question = readRequestedQuery(context, call, key);
    if (question === null) {
      throw new LoggiaError(
        "bad_query",
        "The parameter query is missing: for instance query=GET events TAKE 10, URL-encoded; " +
          "or name a saved query with saved",
      );
    }
    const zone = parseZone(question.tz);
    const plan = planQuery(question.text, { logs: [key], now_ms: context.now(), zone });
    switch (plan.kind) {
      case "list":
        return (await runList(context, call, plan)).reply;
      case "groups":
        return await runGroups(context, plan, call);
      case "users":
        return (await runUsers(context, call, plan)).reply;
      default:
        return plan satisfies never;
    }
  },
});

/** Writes the groups here, so that a long list counts as a running query until it is written. */
async function runGroups(context: Context, question: PlannedGroups, call: ApiCall): Promise<Reply> {
  const { request, format, memory, scheduler } = call;
  await memory.take(estimateGroupsSize(question));
  const hinting = context.attributes.hints(question.plan, memory);
  const found = await answerGroups(context.store, question, scheduler.querying);
  memory.resize(sizeOfGroups(found, format));
  const groups = showGroups(found, question);
  const reply = { status: 200, body: await writeLong(format, groups, () => !request.socket.destroyed, scheduler) };
  const hints = [...(await hinting), ...(found.length > 0 ? [] : await classHints(context, question.plan))];
  return withHints(reply, hints);
}
