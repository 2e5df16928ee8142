import type { Log, Role } from "../../catalog/catalog.ts";
import { requireAccount, requireLogAdmin, requireMember } from "../../catalog/permissions.ts";
import { LoggiaError } from "../../errors.ts";
import type { Route } from "../../http/route.ts";
import { planUserPage } from "../../query/filters.ts";
import { logKeyOf, NO_CONTENT } from "../context.ts";
import type { ApiCall, Context } from "../context.ts";
import { withPages } from "../list.ts";
import { runUsers } from "../users.ts";
import { emailOf, findAccount } from "./accounts.ts";
import { readJson } from "../input.ts";
import { LogChange, NewShare } from "../schemas/inputs.ts";
import { created, managed, ok } from "./json.ts";

export function managedLogRoutes(context: Context): Route[] {
  const { catalog } = context;
  return [
    managed(context, "GET", "/logs", ({ caller }) => {
      const { id } = requireAccount(caller);
      return ok(catalog.logsOf(id).map((log) => ({ ...showLog(log), role: catalog.roleOf(id, log.key) })));
    }),
    managed(context, "GET", "/logs/:log", (call) => ok(showLog(requireAdministered(context, call)))),
    managed(context, "PATCH", "/logs/:log", async (call) => {
      const { key } = requireAdministered(context, call);
      const { display, retentionDays, origins } = await readJson(context, call, LogChange);
      const log = await catalog.updateLog(key, {
        ...(display !== undefined && { display }),
        ...(retentionDays !== undefined && { retentionDays }),
        ...(origins !== undefined && { origins }),
      });
      return ok(showLog(log));
    }),
    managed(context, "GET", "/logs/:log/users", async (call) => {
      const { log } = requireMember(catalog, call.caller, logKeyOf(call));
      const plan = planUserPage(call.query, [log.key]);
      const { reply, total } = await runUsers(context, call, plan);
      return withPages(reply, call, plan, total);
    }),
    ...shareRoutes(context),
  ];
}

function shareRoutes(context: Context): Route[] {
  const { catalog } = context;
  return [
    managed(context, "GET", "/logs/:log/shares", (call) => ok(showShares(context, requireAdministered(context, call)))),
    managed(context, "GET", "/logs/:log/shares/:email", (call) => {
      const { key } = requireAdministered(context, call);
      const asked = emailOf(call);
      const account = catalog.account(asked);
      const role = account && catalog.roleOf(account.id, key);
      // Same message for an unknown e-mail: log admins may not learn which accounts exist.
      if (!role) throw new LoggiaError("share_not_found", `The log ${key} is not shared with ${asked}`);
      return ok(showShare(account.email, role));
    }),
    managed(context, "PUT", "/logs/:log/shares/:email", async (call) => {
      const { key } = requireAdministered(context, call);
      const { role } = await readJson(context, call, NewShare);
      const { id, email } = findAccount(context, call);
      const known = catalog.roleOf(id, key) !== null;
      await catalog.share(key, email, role);
      const share = showShare(email, role);
      return known ? ok(share) : created(`/logs/${key}/shares/${encodeURIComponent(email)}`, share);
    }),
    managed(context, "DELETE", "/logs/:log/shares/:email", async (call) => {
      const { key } = requireAdministered(context, call);
      await catalog.unshare(key, emailOf(call));
      return NO_CONTENT;
    }),
  ];
}

/** Returns the log in the path if the caller is its admin. */
export function requireAdministered({ catalog }: Context, call: ApiCall): Log {
  return requireLogAdmin(catalog, call.caller, logKeyOf(call)).log;
}

function showLog({ key, display, plan, retentionDays, origins }: Log) {
  return { key, display, plan, retentionDays, origins };
}

function showShares({ catalog }: Context, log: Log): { email: string; role: Role }[] {
  return log.shares.flatMap(({ user, role }) => {
    const account = catalog.accountById(user);
    return account === null ? [] : [showShare(account.email, role)];
  });
}

function showShare(email: string, role: Role): { email: string; role: Role } {
  return { email, role };
}
