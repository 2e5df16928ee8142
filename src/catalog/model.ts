import type { LogKey, UserId } from "../events/event.ts";
import { foldEmail } from "../auth/credential-checks.ts";
import type { LogRole, Scope } from "../auth/principals.ts";
import type { StoredSession, StoredStartTicket } from "../auth/sessions/session-store.ts";
import type { AccountLimits, ClassFilter, ClassOptions, Hook, SavedQuery } from "./catalog.ts";

/**
 * A document of the catalog. Data that changes together shares a document: a log holds its shares
 * and keys, so "a log keeps an admin" is checked in one guarded write. Class filters and options
 * have a document each, so that ten thousand of them stay cheap to change.
 */
export type Entity =
  | AccountEntity
  | LogEntity
  | ClassEntity
  | OptionsEntity
  | SavedQueriesEntity
  | HooksEntity
  | SessionsEntity
  | StartTicketEntity
  | QuotaEntity
  | FirstStartEntity;

export type AccountEntity = {
  readonly kind: "account";
  readonly id: UserId;
  readonly email: string;
  readonly admin: boolean;
  /** As `src/auth/passwords/password-hasher.ts` returns it. */
  readonly password: string;
};

export type LogEntity = {
  readonly kind: "log";
  readonly key: LogKey;
  /** The account that created it, even if it no longer exists. */
  readonly owner: UserId;
  readonly display: string;
  readonly retentionDays: number | null;
  /** Absent if there are none. */
  readonly origins?: readonly string[];
  readonly shares: readonly ShareEntity[];
  readonly apiKeys: readonly ApiKeyEntity[];
};

export type ShareEntity = { readonly user: UserId; readonly role: LogRole };

/** `hash`: SHA-256 of the secret, in hex. */
export type ApiKeyEntity = {
  readonly id: string;
  readonly scope: Scope;
  readonly disabled: boolean;
  readonly created: number;
  readonly hash: string;
};

export type ClassEntity = {
  readonly kind: "class";
  readonly log: LogKey;
  /** Random id of this filter, so that options do not apply to a later filter of the same key. */
  readonly birth: string;
  readonly filter: ClassFilter;
};

/** One user's options for one class. The document exists only if an option is on. */
export type OptionsEntity = {
  readonly kind: "options";
  readonly user: UserId;
  readonly log: LogKey;
  readonly class: string;
  /** {@link ClassEntity.birth} of the filter that the options were set for. */
  readonly birth: string;
  readonly options: ClassOptions;
};

/**
 * The saved queries of one user for one log, sorted by name. One document holds them all, so that
 * its guarded writes enforce their limit. It exists only if there are queries.
 */
export type SavedQueriesEntity = {
  readonly kind: "saved-queries";
  readonly log: LogKey;
  readonly user: UserId;
  readonly queries: readonly SavedQuery[];
};

/**
 * The hooks of one log, sorted by name. One document holds them all, so that its guarded writes
 * enforce their limit. It exists only if there are hooks.
 */
export type HooksEntity = {
  readonly kind: "hooks";
  readonly log: LogKey;
  readonly hooks: readonly HookEntity[];
};

/** `secret`: in plain text, as signatures are computed with it. Absent without a signature. */
export type HookEntity = Hook & { readonly secret?: string };

/**
 * The sessions of one account. One document holds them all, so that its guarded writes enforce
 * their limit. It exists only if there are sessions.
 */
export type SessionsEntity = {
  readonly kind: "sessions";
  readonly user: UserId;
  readonly sessions: readonly StoredSession[];
};

export type StartTicketEntity = { readonly kind: "start-ticket" } & StoredStartTicket;

/**
 * Pending additions to the logs of an owner, and its recent attempts to create one: see
 * `quotas.ts`.
 */
export type QuotaEntity = {
  readonly kind: "quota";
  readonly owner: UserId;
  readonly reserved: readonly QuotaReservation[];
  /** In milliseconds since the Unix epoch, ascending. */
  readonly attempts: readonly number[];
};

/** An item to be added to the logs of an owner. */
export type Addition = { readonly kind: keyof AccountLimits; readonly id: string };

/**
 * A reserved place for a pending addition. It expires at `until`, in milliseconds since the Unix
 * epoch.
 */
export type QuotaReservation = Addition & { readonly until: number };

/**
 * Exists while a first start is running or after it was interrupted, see `first-start.ts`. `by` is
 * the id of the process.
 */
export type FirstStartEntity = { readonly kind: "first-start"; readonly by: string };

/**
 * Document ids. Keys contain no slash. An e-mail address comes last, with case folded and accents
 * normalized to NFC.
 */
export const documentId = {
  account: (email: string): string => `account/${foldEmail(email)}`,
  log: (key: LogKey): string => `log/${key}`,
  quota: (owner: UserId): string => `quota/${owner}`,
  class: (log: LogKey, key: string): string => `class/${log}/${key}`,
  options: (user: UserId, log: LogKey, key: string): string => `options/${user}/${log}/${key}`,
  savedQueries: (user: UserId, log: LogKey): string => `saved-queries/${user}/${log}`,
  hooks: (log: LogKey): string => `hooks/${log}`,
  sessions: (user: UserId): string => `sessions/${user}`,
  startTicket: (): string => "start-ticket",
  firstStart: (): string => "first-start",
};
