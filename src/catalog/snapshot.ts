import type { OwnedSession, StoredSession } from "../auth/sessions/session-store.ts";
import type { LogKey, UserId } from "../events/event.ts";
import type { Account, KeyGrant, LogRole } from "../auth/principals.ts";
import type { AccountLimits, ClassFilter, ClassOptions, Log } from "./catalog.ts";
import type { Document, Version } from "./documents/documents.ts";
import {
  createAccountIndex,
  createClassIndex,
  createHookIndex,
  createLogIndex,
  createOptionsIndex,
  createSavedQueryIndex,
  createSessionIndex,
} from "./indexes.ts";
import { documentId } from "./model.ts";
import type {
  AccountEntity,
  Addition,
  Entity,
  HookEntity,
  LogEntity,
  OptionsEntity,
  SavedQueriesEntity,
  SessionsEntity,
} from "./model.ts";

/** A document of the catalog as last read. `entity` is null if it was removed. */
export type SnapshotEntry = { readonly version: Version; readonly entity: Entity | null };

/**
 * The whole catalog in memory, with indexes that make every read a look-up. It changes only by
 * {@link Snapshot.apply}. Results are frozen, and remain the same objects until their content
 * changes.
 */
export type Snapshot = {
  /**
   * Applies a document. A version that is not newer than the present one is ignored, so changes may
   * arrive repeatedly and in any order.
   */
  apply(document: Document): void;
  entry(id: string): SnapshotEntry | null;
  accountEntity(email: string): AccountEntity | null;
  account(email: string): Account | null;
  accountById(id: UserId): Account | null;
  accounts(): readonly Account[];
  log(key: LogKey): Log | null;
  logs(): readonly Log[];
  logsOf(user: UserId): readonly Log[];
  roleOf(user: UserId, log: LogKey): LogRole | null;
  namesOrigin(origin: string): boolean;
  ownerOf(log: LogKey): UserId | null;
  /** Totals over the logs that an account owns. */
  countOwned(owner: UserId): AccountLimits;
  /** Whether an addition exists already. */
  has(addition: Addition): boolean;
  grant(hash: string): KeyGrant | null;
  classFilters(log: LogKey): readonly ClassFilter[];
  classFilterCount(log: LogKey): number;
  options(user: UserId, log: LogKey, classKey: string): ClassOptions;
  optionsOfClass(log: LogKey, classKey: string): readonly OptionsEntity[];
  optionsOfUser(user: UserId): readonly OptionsEntity[];
  subscribers(log: LogKey, classKey: string, option: "alert" | "notify"): readonly UserId[];
  savedQueriesOfLog(log: LogKey): readonly SavedQueriesEntity[];
  savedQueriesOfUser(user: UserId): readonly SavedQueriesEntity[];
  hooks(log: LogKey): readonly HookEntity[];
  /** Includes sessions that have ended. */
  sessionsOf(user: UserId): readonly StoredSession[];
  sessions(): readonly SessionsEntity[];
  sessionByHash(hash: string): OwnedSession | null;
  sessionByTicket(hash: string): OwnedSession | null;
};

const NO_OPTIONS: ClassOptions = Object.freeze({ alert: false, notify: false, hide: false });

export function createSnapshot(): Snapshot {
  const entries = new Map<string, SnapshotEntry>();
  const accounts = createAccountIndex();
  const logs = createLogIndex((user) => accounts.byId(user) !== null);
  const classes = createClassIndex();
  const options = createOptionsIndex();
  const savedQueries = createSavedQueryIndex();
  const hooks = createHookIndex();
  const sessions = createSessionIndex();

  const take = (entity: Entity, sign: "add" | "drop"): void => {
    switch (entity.kind) {
      case "account":
        accounts[sign](entity);
        // A removed account is no member, so the views of its logs change.
        logs.forget(entity.id);
        break;
      case "log":
        logs[sign](entity);
        break;
      case "class":
        classes[sign](entity);
        break;
      case "options":
        options[sign](entity);
        break;
      case "saved-queries":
        savedQueries[sign](entity);
        break;
      case "hooks":
        hooks[sign](entity);
        break;
      case "sessions":
        sessions[sign](entity);
        break;
      case "quota":
      case "start-ticket":
      case "first-start":
        break;
      default:
        entity satisfies never;
    }
  };

  const accountEntity = (email: string): AccountEntity | null => {
    const entity = entries.get(documentId.account(email))?.entity;
    return entity?.kind === "account" ? entity : null;
  };
  const optionsEntity = (user: UserId, log: LogKey, classKey: string): OptionsEntity | null => {
    const entity = entries.get(documentId.options(user, log, classKey))?.entity;
    return entity?.kind === "options" && classes.find(log, classKey)?.birth === entity.birth ? entity : null;
  };

  return {
    apply(document) {
      const before = entries.get(document.id);
      if (before !== undefined && before.version >= document.version) return;
      const entity = document.body as Entity | null;
      entries.set(document.id, { version: document.version, entity });
      if (before?.entity) take(before.entity, "drop");
      if (entity !== null) take(entity, "add");
    },
    entry: (id) => entries.get(id) ?? null,
    accountEntity,
    account: (email) => {
      const entity = accountEntity(email);
      return entity === null ? null : accounts.byId(entity.id);
    },
    accountById: accounts.byId,
    accounts: accounts.all,
    log: logs.find,
    logs: logs.all,
    logsOf: logs.of,
    roleOf: logs.roleOf,
    namesOrigin: logs.namesOrigin,
    ownerOf: logs.ownerOf,
    countOwned: (owner) => countOwned(logs.ownedBy(owner), (key) => classes.count(key)),
    has: (addition) => hasAddition(addition, logs.entity, classes.find),
    grant: logs.grant,
    classFilters: classes.all,
    classFilterCount: classes.count,
    options: (user, log, classKey) => optionsEntity(user, log, classKey)?.options ?? NO_OPTIONS,
    optionsOfClass: options.ofClass,
    optionsOfUser: options.ofUser,
    subscribers: (log, classKey, option) =>
      options
        .ofClass(log, classKey)
        .filter((entity) => entity.options[option] && logs.roleOf(entity.user, log) !== null)
        .filter((entity) => optionsEntity(entity.user, log, classKey) !== null)
        .map((entity) => entity.user)
        .sort(),
    savedQueriesOfLog: savedQueries.ofLog,
    savedQueriesOfUser: savedQueries.ofUser,
    hooks: hooks.ofLog,
    sessionsOf: sessions.ofUser,
    sessions: sessions.all,
    sessionByHash: sessions.byHash,
    sessionByTicket: sessions.byTicket,
  };
}

function countOwned(
  owned: Iterable<Pick<LogEntity, "key" | "apiKeys" | "shares">>,
  classCount: (log: LogKey) => number,
): AccountLimits {
  const counts = { logs: 0, apiKeys: 0, classFilters: 0, shares: 0 };
  for (const { key, apiKeys, shares } of owned) {
    counts.logs += 1;
    counts.apiKeys += apiKeys.length;
    counts.shares += shares.length;
    counts.classFilters += classCount(key);
  }
  return counts;
}

function hasAddition(
  { kind, id }: Addition,
  findLog: (key: LogKey) => LogEntity | null,
  findClass: (log: LogKey, key: string) => unknown,
): boolean {
  const [key = "", name = ""] = id.split("/");
  const log = findLog(key as LogKey);
  switch (kind) {
    case "logs":
      return log !== null;
    case "apiKeys":
      return log?.apiKeys.some((apiKey) => apiKey.id === name) ?? false;
    case "shares":
      return log?.shares.some(({ user }) => user === name) ?? false;
    case "classFilters":
      return findClass(key as LogKey, name) !== null;
    default:
      return kind satisfies never;
  }
}
