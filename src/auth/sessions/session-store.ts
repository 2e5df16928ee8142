import type { UserId } from "../../events/event.ts";
import type { Account } from "../principals.ts";

/**
 * Where sessions and tickets are stored. The catalog implements it: reads are look-ups in memory,
 * and show changes of this process at once, those of others within moments.
 */
export type SessionStore = {
  account(user: UserId): Account | null;
  /** Opaque value that changes with the account's password; null if there is no such account. */
  passwordMark(user: UserId): string | null;
  /** The sessions of an account, also those that have ended. */
  sessions(user: UserId): readonly StoredSession[];
  allSessions(): readonly { readonly user: UserId; readonly sessions: readonly StoredSession[] }[];
  sessionByHash(hash: string): OwnedSession | null;
  sessionByTicket(hash: string): OwnedSession | null;
  /**
   * Stores what `change` returns; equal sessions write nothing. Resolves once it is durable. `change`
   * may be called several times, as other processes change the sessions meanwhile.
   * @throws LoggiaError `overloaded`, `store_unavailable`
   */
  changeSessions(user: UserId, change: SessionChange): Promise<void>;
  startTicket(): StoredStartTicket | null;
  /** Like {@link SessionStore.changeSessions}, for the one start ticket. */
  changeStartTicket(change: (current: StoredStartTicket | null) => StoredStartTicket | null): Promise<void>;
  /** Reads the changes of other processes now. */
  refresh(): Promise<void>;
  /** Reads them at most a few times a second, for all callers together. */
  refreshThrottled(): Promise<void>;
};

/** A change of the sessions of one account. */
export type SessionChange = (sessions: readonly StoredSession[]) => readonly StoredSession[];

/** A session with the account that it belongs to. */
export type OwnedSession = { readonly user: UserId; readonly session: StoredSession };

/** Times are milliseconds since the Unix epoch, by the trusted clock. */
export type StoredSession = {
  readonly id: string;
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  /** The account's password mark when the session began. The session ends when the mark changes. */
  readonly password: string;
  readonly created: number;
  readonly seen: number;
  readonly address: string;
  readonly agent: string;
  readonly tickets?: readonly StoredTicket[];
};

/** Replaces the session cookie in one request. */
export type StoredTicket = {
  /** SHA-256 of the secret, in hex; `path` is the SHA-256 of the path that it is valid for. */
  readonly hash: string;
  readonly path: string;
  readonly until: number;
};

/** Ticket for one sign-in, see `start-ticket.ts`. */
export type StoredStartTicket = {
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  readonly user: UserId;
  /** The account's password mark. The ticket expires when the mark changes. */
  readonly password: string;
  /** In milliseconds since the Unix epoch. */
  readonly until: number;
};
