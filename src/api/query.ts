import { requireReadable } from "../catalog/permissions.ts";
import { LoggiaError } from "../errors.ts";
import type { Reply, Route } from "../http/route.ts";
import { writeLong } from "../http/streamed-list.ts";
import { planQuery } from "../query/planner.ts";
import type { PlannedGroups } from "../query/planned-query.ts";
import { parseZone } from "../query/zone.ts";
import { authenticated, logKeyOf } from "./context.ts";
import type { ApiCall, Context } from "./context.ts";
import { classHints, withHints } from "./hints.ts";
import { runList } from "./list.ts";
import { estimateGroupsSize, sizeOfGroups } from "./response-sizes.ts";
import { readRequestedQuery } from "./requested-query.ts";
import { runUsers } from "./users.ts";
import { answerGroups } from "./groups/answer.ts";
import { showGroups } from "./groups/view.ts";

export function queryRoutes(context: Context): Route[] {
  return [
    authenticated(context, "GET", "/1/logs/:log/query", async (call) => {
      const { key } = requireReadable(context.catalog, call.caller, logKeyOf(call));
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
    }),
  ];
}

/** Writes the groups here, so that a long list counts as a running query until it is written. */
async function runGroups(context: Context, question: PlannedGroups, call: ApiCall): Promise<Reply> {
  const { request, format, memory } = call;
  await memory.take(estimateGroupsSize(question));
  const hinting = context.attributes.hints(question.plan, memory);
  const found = await answerGroups(context.store, question);
  memory.resize(sizeOfGroups(found, format));
  const groups = showGroups(found, question);
  const reply = { status: 200, body: await writeLong(format, groups, () => !request.socket.destroyed) };
  const hints = [...(await hinting), ...(found.length > 0 ? [] : await classHints(context, question.plan))];
  return withHints(reply, hints);
}
