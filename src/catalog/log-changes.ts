import { LoggiaError } from "../errors.ts";
import type { LogKey, UserId } from "../events/event.ts";
import { MAX_API_KEYS, MAX_SHARES } from "./checks.ts";
import { documentId } from "./model.ts";
import type { ApiKeyEntity, Entity, LogEntity, ShareEntity } from "./model.ts";
import type { Snapshot } from "./snapshot.ts";

/*
 * Functions that compute a changed log. They return the same log if nothing changes, and throw
 * `log_not_found` if `current` is not a log.
 */

/** Returns the current log. @throws LoggiaError `log_not_found` */
export function expectLog(current: Entity | null, key: LogKey): LogEntity {
  if (current?.kind === "log") return current;
  throw new LoggiaError("log_not_found", `There is no log ${key}`);
}

/** Returns the log, refreshing if it is unknown. @throws LoggiaError `log_not_found` */
export async function findLog(
  { snapshot, refresh }: { snapshot: Snapshot; refresh: () => Promise<void> },
  key: LogKey,
): Promise<LogEntity> {
  const id = documentId.log(key);
  if (!snapshot.entry(id)?.entity) await refresh();
  return expectLog(snapshot.entry(id)?.entity ?? null, key);
}

/**
 * Returns the log with a share added, or its role changed. @throws LoggiaError `conflict` if it has
 * too many, or would lose its last admin
 */
export function withShare(snapshot: Snapshot, current: Entity | null, key: LogKey, share: ShareEntity): LogEntity {
  const log = expectLog(current, key);
  const before = log.shares.find(({ user }) => user === share.user);
  if (before?.role === share.role) return log;
  if (before === undefined && log.shares.length >= MAX_SHARES) {
    throw new LoggiaError("conflict", `The log ${key} is shared with ${MAX_SHARES} accounts, the maximum`);
  }
  const shares =
    before === undefined ? [...log.shares, share] : log.shares.map((other) => (other === before ? share : other));
  return before?.role === "admin" ? keepAdmin(snapshot, { ...log, shares }) : { ...log, shares };
}

/**
 * Returns the log without a user's share; the same log if there is none. @throws LoggiaError
 * `conflict` if no other admin is left
 */
export function withoutShare(snapshot: Snapshot, current: Entity | null, key: LogKey, user: UserId): LogEntity {
  const log = expectLog(current, key);
  const shares = log.shares.filter((share) => share.user !== user);
  return shares.length === log.shares.length ? log : keepAdmin(snapshot, { ...log, shares });
}

/** Throws if the log has no admin. Shares of removed accounts do not count. */
function keepAdmin(snapshot: Snapshot, log: LogEntity): LogEntity {
  if (log.shares.some(({ user, role }) => role === "admin" && snapshot.accountById(user) !== null)) return log;
  throw new LoggiaError(
    "conflict",
    `The log ${log.key} would be left without an admin; make another account its admin first`,
  );
}

/** Returns the log with an API key added. @throws LoggiaError `conflict` if it has too many */
export function withApiKey(current: Entity | null, key: LogKey, apiKey: ApiKeyEntity): LogEntity {
  const log = expectLog(current, key);
  if (log.apiKeys.length < MAX_API_KEYS) return { ...log, apiKeys: [...log.apiKeys, apiKey] };
  throw new LoggiaError("conflict", `The log ${key} has ${MAX_API_KEYS} API keys, the maximum; remove one first`);
}

/**
 * Returns the log with an API key changed, or removed if `change` returns null. @throws LoggiaError
 * `api_key_not_found`
 */
export function withChangedApiKey(
  current: Entity | null,
  key: LogKey,
  id: string,
  change: (apiKey: ApiKeyEntity) => ApiKeyEntity | null,
): LogEntity {
  const log = expectLog(current, key);
  if (!log.apiKeys.some((apiKey) => apiKey.id === id)) {
    throw new LoggiaError("api_key_not_found", `The log ${key} has no API key with the id ${id}`);
  }
  const apiKeys = log.apiKeys.map((apiKey) => (apiKey.id === id ? change(apiKey) : apiKey));
  return { ...log, apiKeys: apiKeys.filter((apiKey) => apiKey !== null) };
}
