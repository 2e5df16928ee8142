import { isDeepStrictEqual } from "node:util";

import { checkApiKey } from "../auth/credential-checks.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import { requireAccount } from "./accounts.ts";
import { newApiKey } from "./api-keys.ts";
import type { Catalog, Log } from "./catalog.ts";
import { checkDisplay, checkOneOf, checkOrigins, checkRetentionDays } from "./checks.ts";
import { expectLog, findLog, withoutShare, withShare } from "./log-changes.ts";
import { documentId } from "./model.ts";
import type { LogEntity } from "./model.ts";
import { quotaAddition } from "./quotas.ts";
import type { Quotas } from "./quotas.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

type Logs = Pick<
  Catalog,
  "log" | "logs" | "logsOf" | "namesOrigin" | "roleOf" | "ownerOf" | "createLog" | "updateLog" | "share" | "unshare"
>;

export function createLogs(parts: {
  snapshot: Snapshot;
  writer: Writer;
  quotas: Quotas;
  refresh: () => Promise<void>;
}): Logs {
  const { snapshot, writer, quotas, refresh } = parts;
  // Logs are never removed, so one that was just written exists.
  const view = (key: LogKey): Log => snapshot.log(key)!;
  return {
    log: (key) => snapshot.log(key),
    logs: () => snapshot.logs(),
    logsOf: (user) => snapshot.logsOf(user),
    namesOrigin: (origin) => snapshot.namesOrigin(origin),
    roleOf: (user, log) => snapshot.roleOf(user, log),
    ownerOf: (log) => snapshot.ownerOf(log),
    async createLog({ key, display, owner, apiKey: secret }) {
      checkDisplay(display);
      if (secret !== undefined) checkApiKey(secret);
      if (snapshot.accountById(owner) === null) await refresh();
      if (snapshot.accountById(owner) === null)
        throw new LoggiaError("account_not_found", "The log's owner has no account");
      // The owner already knows that its own log exists, so this does not count as an attempt.
      if (snapshot.roleOf(owner, key) !== null) throw logExists(key);
      await quotas.countLogAttempt(owner);
      if (snapshot.log(key) !== null) throw logExists(key);
      const { entity: apiKey, issued } = await newApiKey(parts, "read-write", secret).catch((error: unknown) => {
        // If another user just created the log with the same secret, report the log as taken.
        throw snapshot.log(key) === null ? error : logExists(key);
      });
      const additions = [quotaAddition.log(key), quotaAddition.apiKey(key, apiKey.id), quotaAddition.share(key, owner)];
      const shares = [{ user: owner, role: "admin" as const }];
      await quotas.add(owner, additions, () =>
        writer.write(documentId.log(key), (current): LogEntity => {
          if (current !== null) throw logExists(key);
          return { kind: "log", key, owner, display, retentionDays: null, shares, apiKeys: [apiKey] };
        }),
      );
      return { log: view(key), apiKey: issued };
    },
    async updateLog(key, change) {
      if (change.display !== undefined) checkDisplay(change.display);
      if (change.retentionDays !== undefined) checkRetentionDays(change.retentionDays);
      const origins = change.origins === undefined ? undefined : checkOrigins(change.origins);
      await writer.write(documentId.log(key), (current) => {
        const log = expectLog(current, key);
        const { display = log.display, retentionDays = log.retentionDays } = change;
        const isSame = display === log.display && retentionDays === log.retentionDays;
        return isSame && (origins === undefined || isDeepStrictEqual(origins, log.origins ?? []))
          ? log
          : { ...log, display, retentionDays, ...(origins !== undefined && { origins }) };
      });
      return view(key);
    },
    async share(key, email, role) {
      checkOneOf("role", role, ["admin", "user"]);
      const { id } = await requireAccount(parts, email);
      const { owner } = await findLog(parts, key);
      await quotas.add(owner, [quotaAddition.share(key, id)], () =>
        writer.write(documentId.log(key), (current) => withShare(snapshot, current, key, { user: id, role })),
      );
    },
    async unshare(key, email) {
      const missing = new LoggiaError("share_not_found", `The log ${key} is not shared with ${email}`);
      const { id } = await requireAccount(parts, email).catch((error: unknown) => {
        throw error instanceof LoggiaError && error.code === "account_not_found" ? missing : error;
      });
      await writer.write(documentId.log(key), (current) => {
        const log = expectLog(current, key);
        if (!log.shares.some(({ user }) => user === id)) throw missing;
        return withoutShare(snapshot, log, key, id);
      });
    },
  };
}

function logExists(key: LogKey): LoggiaError {
  return new LoggiaError("log_exists", `The log key ${key} is taken; choose another`);
}
