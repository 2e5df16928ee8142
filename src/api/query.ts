import { requireReadable } from "../catalog/permissions.ts";
import { savedQueryNotFound } from "../catalog/saved-queries.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
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
import { runUsers } from "./users.ts";
import { showGroups } from "./view.ts";

export function queryRoutes(context: Context): Route[] {
  return [
    authenticated(context, "GET", "/1/logs/:log/query", async (call) => {
      const { key } = requireReadable(context.catalog, call.caller, logKeyOf(call));
      const { text, tz } = readQuestion(context, call, key);
      const plan = planQuery(text, { logs: [key], now_ms: context.now(), zone: parseZone(tz) });
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

/**
 * The text of the query that a call asks, and its time zone: `query`, or the saved query that
 * `saved` names. The parameter `tz` wins over the zone that was saved.
 * @throws LoggiaError `bad_query`, `saved_query_not_found`
 */
function readQuestion({ catalog }: Context, call: ApiCall, log: LogKey): { text: string; tz: string | null } {
  const text = call.query.get("query");
  const name = call.query.get("saved");
  const tz = call.query.get("tz");
  if (text === null && name === null) {
    throw new LoggiaError(
      "bad_query",
      "The parameter query is missing: for instance query=GET events TAKE 10, URL-encoded; or name a saved query by saved",
    );
  }
  if (text !== null && name !== null) {
    throw new LoggiaError("bad_parameter", "Both query and saved are there; a call asks one of them");
  }
  if (name === null) return { text: text!, tz };
  const { caller } = call;
  const saved = catalog.savedQuery(log, caller.kind === "account" ? caller.account.id : null, name);
  if (saved === null) throw savedQueryNotFound(log, name);
  return { text: saved.query, tz: tz ?? saved.tz };
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
