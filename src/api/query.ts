import { requireReadable } from "../catalog/permissions.ts";
import { LoggiaError } from "../errors.ts";
import type { Reply, Route } from "../http/route.ts";
import { writeLong } from "../http/written.ts";
import { planQuery } from "../query/planner.ts";
import type { GroupPlan } from "../query/plan.ts";
import { parseZone } from "../query/zone.ts";
import { authenticated, logKeyOf } from "./context.ts";
import type { ApiCall, Context } from "./context.ts";
import { classHints, withHints } from "./hints.ts";
import { runList } from "./list.ts";
import { roomForGroups, sizeOfGroups } from "./memory.ts";
import { readQuestion } from "./question.ts";
import { runUsers } from "./users.ts";
import { showGroups } from "./view.ts";

export function queryRoutes(context: Context): Route[] {
  return [
    authenticated(context, "GET", "/1/logs/:log/query", async (call) => {
      const { key } = requireReadable(context.catalog, call.caller, logKeyOf(call));
      const question = readQuestion(context, call, key);
      if (question === null) {
        throw new LoggiaError(
          "bad_query",
          "The parameter query is missing: for instance query=GET events TAKE 10, URL-encoded; or name a saved query by saved",
        );
      }
      const zone = parseZone(question.tz);
      const plan = planQuery(question.text, { logs: [key], now_ms: context.now(), zone });
      switch (plan.kind) {
        case "list":
          return (await runList(context, call, plan)).reply;
        case "group":
          return await runGroup(context, plan, call);
        case "users":
          return (await runUsers(context, call, plan)).reply;
        default:
          return plan satisfies never;
      }
    }),
  ];
}

/** Writes the groups itself, so that a long list of them counts as a running query until it is written. */
async function runGroup(context: Context, plan: GroupPlan, call: ApiCall): Promise<Reply> {
  const { request, format, memory } = call;
  await memory.take(roomForGroups(plan));
  const found = await context.store.group(plan);
  memory.resize(sizeOfGroups(found, format));
  const groups = showGroups(found, plan.by, plan.columns);
  const reply = { status: 200, body: await writeLong(format, groups, () => !request.socket.destroyed) };
  return found.length > 0 ? reply : withHints(reply, await classHints(context, plan));
}
