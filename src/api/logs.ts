import { requireAccount, requireReadable, requireReadableLogs } from "../catalog/permissions.ts";
import { LoggiaError } from "../errors.ts";
import { parseLogKey } from "../events/event.ts";
import type { Route } from "../http/route.ts";
import { authenticated, logKeyOf, readForm, unsupported } from "./context.ts";
import type { Context } from "./context.ts";
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
        const form = await readForm(context, call);
        const key = parseLogKey(form.get("key") ?? "");
        if (key === null) {
          throw new LoggiaError(
            "bad_parameter",
            "key must be 1 to 63 letters a to z, digits and hyphens, not begin with a hyphen, and not be bookmarks, alerts or classfilters",
          );
        }
        const { log } = await catalog.createLog({ key, display: form.get("display") ?? "", owner: owner.id });
        return { status: 201, body: showLog(log), headers: { Location: `/1/logs/${log.key}` } };
      },
      { takesBody: true },
    ),
    authenticated(context, "GET", "/1/logs/:log", (call) => ({
      status: 200,
      body: showLog(requireReadable(catalog, call.caller, logKeyOf(call))),
    })),
    authenticated(context, "DELETE", "/1/logs/:log", unsupported("Logs cannot be deleted")),
  ];
}
