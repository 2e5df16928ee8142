import type { LogKey, UserId } from "../events/event.ts";
import { fold } from "../events/text.ts";
import type { AccountLimits, ClassFilter, ClassOptions, Hook, Role, SavedQuery, Scope } from "./catalog.ts";

/**
 * What the catalog stores, as documents. What changes together stands together: a log holds its
 * shares and keys, so that "a log keeps an admin" is a matter of one guarded write; class filters
 * and options have a document each, so that ten thousand of them stay cheap to change.
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
  /** See `passwords.ts`. */
  readonly password: string;
};

export type LogEntity = {
  readonly kind: "log";
  readonly key: LogKey;
  /**
   * The account that created it, also after it is gone. Earlier releases stored none: see {@link
   * withOwner}.
   */
  readonly owner: UserId;
  readonly display: string;
  readonly retentionDays: number | null;
  /** Absent where there are none. */
  readonly origins?: readonly string[];
  readonly shares: readonly ShareEntity[];
  readonly apiKeys: readonly ApiKeyEntity[];
};

export type ShareEntity = { readonly user: UserId; readonly role: Role };

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
  /** Drawn when the filter is created: options are for this one, and not for a later one of the same key. */
  readonly birth: string;
  readonly filter: ClassFilter;
};

/** One person's options for one class. Absent where all are off. */
export type OptionsEntity = {
  readonly kind: "options";
  readonly user: UserId;
  readonly log: LogKey;
  readonly class: string;
  /** {@link ClassEntity.birth} of the filter that they were set for. */
  readonly birth: string;
  readonly options: ClassOptions;
};

/**
 * The queries that one person saved for one log, by name. One document for all of them, so that
 * their number is bounded by the guarded write of that document. Absent where there are none.
 */
export type SavedQueriesEntity = {
  readonly kind: "saved-queries";
  readonly log: LogKey;
  readonly user: UserId;
  readonly queries: readonly SavedQuery[];
};

/**
 * The hooks of one log, by name. One document for all of them, so that their number is bounded by
 * the guarded write of that document. Absent where there are none.
 */
export type HooksEntity = {
  readonly kind: "hooks";
  readonly log: LogKey;
  readonly hooks: readonly HookEntity[];
};

/** `secret`: as it is, for signatures are made with it. Absent where nothing is signed. */
export type HookEntity = Hook & { readonly secret?: string };

/**
 * The sessions of one account. One document for all of them, so that their number is bounded by its
 * guarded writes. Absent where there are none.
 */
export type SessionsEntity = {
  readonly kind: "sessions";
  readonly user: UserId;
  readonly sessions: readonly SessionEntity[];
};

/** Moments are milliseconds since the Unix epoch, by the time that is believed. */
export type SessionEntity = {
  readonly id: string;
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  /** The account's password mark as the session began: with another one it is over. */
  readonly password: string;
  readonly created: number;
  readonly seen: number;
  readonly address: string;
  readonly agent: string;
  readonly tickets?: readonly TicketEntity[];
};

/** Stands for the cookie in one request. */
export type TicketEntity = {
  /** SHA-256 of the secret, and of the path that it is for, in hex. */
  readonly hash: string;
  readonly path: string;
  readonly until: number;
};

/** Signs in once: see `start-ticket.ts`. */
export type StartTicketEntity = {
  readonly kind: "start-ticket";
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  readonly user: UserId;
  /** The account's password mark: with another one the ticket is over. */
  readonly password: string;
  /** In milliseconds since the Unix epoch. */
  readonly until: number;
};

/**
 * An entity as it was stored, with what earlier releases did not store. The owner of a log without
 * one is its first admin: every process derives the same, and the next change of the log stores it.
 */
export function withOwner(stored: StoredEntity): Entity {
  if (stored.kind !== "log" || stored.owner !== undefined) return stored as Entity;
  const first = stored.shares.find(({ role }) => role === "admin") ?? stored.shares[0];
  return { ...stored, owner: first?.user ?? NO_OWNER };
}

export type StoredEntity = Exclude<Entity, LogEntity> | (Omit<LogEntity, "owner"> & { readonly owner?: UserId });

/** Of a log that was shared with nobody. */
const NO_OWNER = "" as UserId;

/**
 * What is being added to the logs that an account owns, and its latest attempts to create one: see
 * `quotas.ts`.
 */
export type QuotaEntity = {
  readonly kind: "quota";
  readonly owner: UserId;
  readonly reserved: readonly Reservation[];
  /** In milliseconds since the Unix epoch, ascending. */
  readonly attempts: readonly number[];
};

/** What is about to be added to the logs of an owner. */
export type Addition = { readonly kind: keyof AccountLimits; readonly id: string };

/**
 * The place of an addition that may not be made yet. It lapses at `until`, in milliseconds since
 * the Unix epoch.
 */
export type Reservation = Addition & { readonly until: number };

/**
 * Exists while a first start is under way, or was cut off: see `first-start.ts`. `by` names the
 * process.
 */
export type FirstStartEntity = { readonly kind: "first-start"; readonly by: string };

/**
 * The ids of documents. Keys hold no slash, and an e-mail address stands last: without regard to
 * case or to how accents are composed.
 */
export const idOf = {
  account: (email: string): string => `account/${fold(email.normalize("NFC"))}`,
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
