import type { OwnedSession, StoredSession } from "../auth/sessions/session-store.ts";
import type { LogKey, UserId } from "../events/event.ts";
import { fold } from "../events/text.ts";
import type { Account, KeyGrant, LogRole } from "../auth/principals.ts";
import type { ApiKey, ClassFilter, Log } from "./catalog.ts";
import { documentId } from "./model.ts";
import type {
  AccountEntity,
  ApiKeyEntity,
  ClassEntity,
  HookEntity,
  HooksEntity,
  LogEntity,
  OptionsEntity,
  SavedQueriesEntity,
  SessionsEntity,
} from "./model.ts";

const NO_FILTERS: readonly ClassFilter[] = Object.freeze([]);
const NO_HOOKS: readonly HookEntity[] = Object.freeze([]);
const NO_LOGS: readonly Log[] = Object.freeze([]);

/** Accounts by their permanent id. */
export function createAccountIndex() {
  const byId = new Map<UserId, Account>();
  let sorted: readonly Account[] | null = null;
  return {
    add({ id, email, admin }: AccountEntity): void {
      byId.set(id, Object.freeze({ id, email, admin }));
      sorted = null;
    },
    drop({ id }: AccountEntity): void {
      byId.delete(id);
      sorted = null;
    },
    byId: (id: UserId): Account | null => byId.get(id) ?? null,
    all: (): readonly Account[] =>
      (sorted ??= Object.freeze([...byId.values()].sort(by((account) => fold(account.email))))),
  };
}

/** Index of logs, members and API key grants. `exists` returns whether an account exists. */
export function createLogIndex(exists: (user: UserId) => boolean) {
  const entities = new Map<LogKey, LogEntity>();
  const grants = new Map<string, KeyGrant>();
  const roles = new Map<UserId, Map<LogKey, LogRole>>();
  const owned = new Map<UserId, Map<LogKey, LogEntity>>();
  // Views are created on first use, so loading ten thousand logs creates none.
  const views = new Map<LogKey, Log>();
  const viewsOfUser = new Map<UserId, readonly Log[]>();
  /** Number of logs per origin. */
  const origins = new Map<string, number>();
  let sorted: readonly Log[] | null = null;

  const find = (key: LogKey): Log | null => {
    const view = views.get(key);
    if (view !== undefined) return view;
    const entity = entities.get(key);
    if (entity === undefined) return null;
    const made = viewOf(entity, exists);
    views.set(key, made);
    return made;
  };
  const changed = (entity: LogEntity): void => {
    views.delete(entity.key);
    for (const { user } of entity.shares) viewsOfUser.delete(user);
    sorted = null;
  };

  return {
    add(entity: LogEntity): void {
      entities.set(entity.key, entity);
      within(owned, entity.owner).set(entity.key, entity);
      for (const { user, role } of entity.shares) within(roles, user).set(entity.key, role);
      for (const origin of entity.origins ?? []) origins.set(origin, (origins.get(origin) ?? 0) + 1);
      for (const { hash, id, scope, disabled } of entity.apiKeys) {
        grants.set(hash, Object.freeze({ log: entity.key, id, scope, disabled }));
      }
      changed(entity);
    },
    drop(entity: LogEntity): void {
      entities.delete(entity.key);
      removeWithin(owned, entity.owner, entity.key);
      for (const { user } of entity.shares) removeWithin(roles, user, entity.key);
      for (const origin of entity.origins ?? []) {
        const left = (origins.get(origin) ?? 1) - 1;
        if (left === 0) origins.delete(origin);
        else origins.set(origin, left);
      }
      for (const { hash, id } of entity.apiKeys) if (grants.get(hash)?.id === id) grants.delete(hash);
      changed(entity);
    },
    /** Drops the views that include a user whose account was created or removed. */
    forget(user: UserId): void {
      for (const key of roles.get(user)?.keys() ?? []) changed(entities.get(key)!);
    },
    find,
    all: (): readonly Log[] => (sorted ??= viewsOf(entities.keys(), find)),
    of: (user: UserId): readonly Log[] => {
      const cached = viewsOfUser.get(user);
      if (cached !== undefined) return cached;
      const keys = roles.get(user)?.keys();
      if (keys === undefined || !exists(user)) return NO_LOGS;
      const views = viewsOf(keys, find);
      viewsOfUser.set(user, views);
      return views;
    },
    roleOf: (user: UserId, log: LogKey): LogRole | null => (exists(user) ? (roles.get(user)?.get(log) ?? null) : null),
    entity: (log: LogKey): LogEntity | null => entities.get(log) ?? null,
    ownedBy: (owner: UserId): Iterable<LogEntity> => owned.get(owner)?.values() ?? [],
    namesOrigin: (origin: string): boolean => origins.has(origin),
    ownerOf: (log: LogKey): UserId | null => entities.get(log)?.owner ?? null,
    grant: (hash: string): KeyGrant | null => grants.get(hash) ?? null,
  };
}

/**
 * Index of the class filters of each log. The list is kept sorted on insert, as re-sorting
 * thousands of filters on every change would block the thread.
 */
export function createClassIndex() {
  type OfLog = {
    readonly byKey: Map<string, ClassEntity>;
    readonly sorted: ClassFilter[];
    view: readonly ClassFilter[] | null;
  };
  const logs = new Map<LogKey, OfLog>();
  return {
    add(entity: ClassEntity): void {
      const { filter } = entity;
      const ofLog = logs.get(entity.log) ?? { byKey: new Map<string, ClassEntity>(), sorted: [], view: null };
      logs.set(entity.log, ofLog);
      ofLog.byKey.set(filter.key, entity);
      ofLog.sorted.splice(placeOf(ofLog.sorted, filter.key), 0, Object.freeze(filter));
      ofLog.view = null;
    },
    drop({ log, filter: { key } }: ClassEntity): void {
      const ofLog = logs.get(log);
      if (ofLog === undefined || !ofLog.byKey.delete(key)) return;
      ofLog.sorted.splice(placeOf(ofLog.sorted, key), 1);
      ofLog.view = null;
    },
    find: (log: LogKey, key: string): ClassEntity | null => logs.get(log)?.byKey.get(key) ?? null,
    count: (log: LogKey): number => logs.get(log)?.byKey.size ?? 0,
    all: (log: LogKey): readonly ClassFilter[] => {
      const ofLog = logs.get(log);
      if (ofLog === undefined) return NO_FILTERS;
      return (ofLog.view ??= Object.freeze(ofLog.sorted.slice()));
    },
  };
}

/** Returns the index of a key in a sorted list, or where to insert it. */
function placeOf(sorted: readonly ClassFilter[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]!.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of options by class and user. */
export function createOptionsIndex() {
  const byClass = new Map<string, Map<UserId, OptionsEntity>>();
  const byUser = new Map<UserId, Map<string, OptionsEntity>>();
  return {
    add(entity: OptionsEntity): void {
      within(byClass, classId(entity)).set(entity.user, entity);
      within(byUser, entity.user).set(classId(entity), entity);
    },
    drop(entity: OptionsEntity): void {
      removeWithin(byClass, classId(entity), entity.user);
      removeWithin(byUser, entity.user, classId(entity));
    },
    ofClass: (log: LogKey, key: string): readonly OptionsEntity[] => [
      ...(byClass.get(documentId.class(log, key))?.values() ?? []),
    ],
    ofUser: (user: UserId): readonly OptionsEntity[] => [...(byUser.get(user)?.values() ?? [])],
  };
}

function classId(entity: OptionsEntity): string {
  return documentId.class(entity.log, entity.class);
}

/** Index of saved queries by log and user. */
export function createSavedQueryIndex() {
  const byLog = new Map<LogKey, Map<UserId, SavedQueriesEntity>>();
  const byUser = new Map<UserId, Map<LogKey, SavedQueriesEntity>>();
  return {
    add(entity: SavedQueriesEntity): void {
      within(byLog, entity.log).set(entity.user, entity);
      within(byUser, entity.user).set(entity.log, entity);
    },
    drop(entity: SavedQueriesEntity): void {
      removeWithin(byLog, entity.log, entity.user);
      removeWithin(byUser, entity.user, entity.log);
    },
    ofLog: (log: LogKey): readonly SavedQueriesEntity[] => [...(byLog.get(log)?.values() ?? [])],
    ofUser: (user: UserId): readonly SavedQueriesEntity[] => [...(byUser.get(user)?.values() ?? [])],
  };
}

/** Hooks by log. */
export function createHookIndex() {
  const byLog = new Map<LogKey, readonly HookEntity[]>();
  return {
    add({ log, hooks }: HooksEntity): void {
      byLog.set(log, hooks);
    },
    drop({ log }: HooksEntity): void {
      byLog.delete(log);
    },
    ofLog: (log: LogKey): readonly HookEntity[] => byLog.get(log) ?? NO_HOOKS,
  };
}

/** Index of sessions by user, by hash of their secret, and by hash of their tickets. */
export function createSessionIndex() {
  const byUser = new Map<UserId, SessionsEntity>();
  const byHash = new Map<string, OwnedSession>();
  const byTicket = new Map<string, OwnedSession>();
  return {
    add(entity: SessionsEntity): void {
      byUser.set(entity.user, entity);
      for (const session of entity.sessions) {
        const found = { user: entity.user, session };
        byHash.set(session.hash, found);
        for (const { hash } of session.tickets ?? []) byTicket.set(hash, found);
      }
    },
    drop({ user, sessions }: SessionsEntity): void {
      byUser.delete(user);
      for (const { hash, tickets = [] } of sessions) {
        byHash.delete(hash);
        for (const ticket of tickets) byTicket.delete(ticket.hash);
      }
    },
    ofUser: (user: UserId): readonly StoredSession[] => byUser.get(user)?.sessions ?? [],
    all: (): readonly SessionsEntity[] => [...byUser.values()],
    byHash: (hash: string): OwnedSession | null => byHash.get(hash) ?? null,
    byTicket: (hash: string): OwnedSession | null => byTicket.get(hash) ?? null,
  };
}

function viewOf(entity: LogEntity, exists: (user: UserId) => boolean): Log {
  return Object.freeze({
    key: entity.key,
    display: entity.display,
    plan: "development",
    retentionDays: entity.retentionDays,
    origins: Object.freeze([...(entity.origins ?? [])]),
    shares: Object.freeze(entity.shares.filter(({ user }) => exists(user)).map((share) => Object.freeze(share))),
    apiKeys: Object.freeze(entity.apiKeys.map(apiKeyFromEntity)),
  });
}

/** The public part of an API key. */
export function apiKeyFromEntity({ id, scope, disabled, created }: ApiKeyEntity): ApiKey {
  return Object.freeze({ id, scope, disabled, created });
}

function viewsOf(keys: Iterable<LogKey>, find: (key: LogKey) => Log | null): readonly Log[] {
  return Object.freeze(
    [...keys]
      .sort()
      .map((key) => find(key))
      .filter((log) => log !== null),
  );
}

function within<Outer, Inner, Value>(map: Map<Outer, Map<Inner, Value>>, key: Outer): Map<Inner, Value> {
  let inner = map.get(key);
  if (inner === undefined) map.set(key, (inner = new Map<Inner, Value>()));
  return inner;
}

function removeWithin<Outer, Inner, Value>(map: Map<Outer, Map<Inner, Value>>, outer: Outer, inner: Inner): void {
  const values = map.get(outer);
  if (values?.delete(inner) && values.size === 0) map.delete(outer);
}

function by<T>(key: (value: T) => string): (a: T, b: T) => number {
  return (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
}
