import { requireAccount, requireReadable, requireReadableLogs } from "../catalog/permissions.ts";
import type { Route } from "../http/route.ts";
import { authenticated, logKeyOf, unsupported } from "./context.ts";
import type { Context } from "./context.ts";
import { readForm } from "./input.ts";
import { NewLog } from "./schemas/inputs.ts";
import { showLog, showLogs } from "./view.ts";

export function logRoutes(context: Context): Route[] {
  const { catalog } = context;
  return [
    authenticated(context, "GET", "/1/logs", ({ caller }) => ({
      status: 200,
      body: showLogs(requireReadableLogs(catalog, caller)),
    })),
    authenticated(
      context,
      "POST",
      "/1/logs",
      async (call) => {
        const owner = requireAccount(call.caller);
        const { key, display } = await readForm(context, call, NewLog);
        const { log } = await catalog.createLog({ key, display, owner: owner.id });
        return { status: 201, body: showLog(log), headers: { Location: `/1/logs/${log.key}` } };
      },
      { takesBody: true },
    ),
    authenticated(context, "GET", "/1/logs/:log", (call) => ({
      status: 200,
      body: showLog(requireReadable(catalog, call.caller, logKeyOf(call))),
    })),
    authenticated(context, "DELETE", "/1/logs/:log", unsupported(context, "Logs cannot be deleted")),
  ];
}
