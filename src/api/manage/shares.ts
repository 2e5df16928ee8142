import type { LogRole } from "../../auth/principals.ts";
import type { Log } from "../../catalog/catalog.ts";
import { LoggiaError } from "../../errors.ts";
import type { Context } from "../context.ts";
import { created, NO_CONTENT, ok, REMOVED_ANSWER } from "../replies.ts";
import { ShareList, ShareRecord } from "../schemas/answers.ts";
import { NewShare } from "../schemas/inputs.ts";
import { emailParameter, findAccount } from "./accounts.ts";
import { managed } from "./managed.ts";

export const SHARE_ROUTES = [
  managed({
    method: "GET",
    path: "/manage/1/logs/:log/shares",
    who: "log admin",
    id: "listShares",
    summary: "List the shares of a log; for its admins",
    answers: { 200: { what: "The shares", schema: ShareList } },
    handle: (context, { access: { log } }) => ok(showShares(context, log)),
  }),
  managed({
    method: "GET",
    path: "/manage/1/logs/:log/shares/:email",
    who: "log admin",
    id: "readShare",
    summary: "Read a share; for admins of the log",
    answers: { 200: { what: "The share", schema: ShareRecord } },
    errors: ["share_not_found"],
    handle({ catalog }, call) {
      const { key } = call.access.log;
      const asked = emailParameter(call);
      const account = catalog.account(asked);
      const role = account && catalog.roleOf(account.id, key);
      // Same message for an unknown e-mail: log admins may not learn which accounts exist.
      if (!role) throw new LoggiaError("share_not_found", `The log ${key} is not shared with ${asked}`);
      return ok(showShare(account.email, role));
    },
  }),
  managed({
    method: "PUT",
    path: "/manage/1/logs/:log/shares/:email",
    who: "log admin",
    id: "share",
    summary: "Share a log, or change the role of a share; for its admins",
    json: NewShare,
    answers: {
      200: { what: "The changed share", schema: ShareRecord },
      201: { what: "The new share", schema: ShareRecord, headers: ["Location"] },
    },
    errors: ["account_not_found", "conflict"],
    async handle(context, call) {
      const { catalog } = context;
      const { key } = call.access.log;
      const { role } = await call.input();
      const { id, email } = findAccount(context, call);
      const known = catalog.roleOf(id, key) !== null;
      await catalog.share(key, email, role);
      const share = showShare(email, role);
      return known ? ok(share) : created(`/manage/1/logs/${key}/shares/${encodeURIComponent(email)}`, share);
    },
  }),
  managed({
    method: "DELETE",
    path: "/manage/1/logs/:log/shares/:email",
    who: "log admin",
    id: "unshare",
    summary: "Remove a share; for admins of the log",
    answers: { 204: REMOVED_ANSWER },
    errors: ["share_not_found", "conflict"],
    async handle({ catalog }, call) {
      await catalog.unshare(call.access.log.key, emailParameter(call));
      return NO_CONTENT;
    },
  }),
];

function showShares({ catalog }: Context, log: Log): { email: string; role: LogRole }[] {
  return log.shares.flatMap(({ user, role }) => {
    const account = catalog.accountById(user);
    return account === null ? [] : [showShare(account.email, role)];
  });
}

function showShare(email: string, role: LogRole): { email: string; role: LogRole } {
  return { email, role };
}
