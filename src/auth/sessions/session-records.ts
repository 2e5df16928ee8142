import type { Logger } from "pino";

import { LoggiaError } from "../../errors.ts";
import type { UserId } from "../../events/event.ts";
import { createKeyedQueue } from "../../scheduling/serial-queue.ts";
import type { AccountSession, Session } from "../principals.ts";
import type { OwnedSession, SessionChange, SessionStore, StoredSession } from "./session-store.ts";
import { UnstoredSessions } from "./unstored-sessions.ts";

export const SESSION_IDLE_MS = 12 * 3_600_000;
export const SESSION_LIFE_MS = 7 * 86_400_000;
/** Longest delay of the stored last use, in milliseconds, so that not every request writes it. */
export const SEEN_STEP_MS = 300_000;
/** Minimum time between attempts to store what could not be stored, in milliseconds. */
const RETRY_MS = 5_000;
/** A session that begins further in the future than this was created under a wrong clock. */
const FUTURE_MS = 3_600_000;

export type SessionParts = {
  readonly store: SessionStore;
  /** Trusted clock. */
  readonly now: () => number;
  readonly log: Logger;
  /**
   * Whether this process alone serves sessions. Then it keeps changes in memory that cannot be
   * stored, so that people can sign in and read while the disk is full.
   */
  readonly isAlone: boolean;
};

/**
 * Stores sessions and decides when they end. A session is bound to the account's password hash: it
 * ends in each process when that process reads a new password or the account's removal.
 */
export class SessionRecords {
  readonly #parts: SessionParts;
  /** Last use seen by this process, by session, possibly not stored yet. */
  readonly #used = new Map<string, number>();
  readonly #storing = new Set<string>();
  readonly #unstored = new UnstoredSessions();
  readonly #inTurn = createKeyedQueue();
  #retried_ms = -Infinity;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  isOver(user: UserId, session: StoredSession): boolean {
    const now_ms = this.#parts.now();
    const isAhead = session.created > now_ms + FUTURE_MS;
    return isAhead || now_ms >= this.#endOf(session) || !this.isBound(user, session);
  }

  /** Whether the account still has the password that the session began with. */
  isBound(user: UserId, { password }: StoredSession): boolean {
    return password === this.#parts.store.passwordMark(user);
  }

  /** Whether a session has expired for certain, even if another process saw a later use. */
  hasLapsed(session: StoredSession): boolean {
    return this.#parts.now() >= this.#endOf(session) + SEEN_STEP_MS;
  }

  /** Returns a session with its account; null if it has ended. */
  show(user: UserId, entity: StoredSession | undefined): AccountSession | null {
    const account = this.#parts.store.account(user);
    if (entity === undefined || account === null || this.isOver(user, entity)) return null;
    const { id, created, address, agent } = entity;
    const [seen, expires] = [this.#seenOf(entity), this.#endOf(entity)];
    return { account, session: { id, user, created, seen, expires, address, agent } };
  }

  find(user: UserId, id: string): StoredSession | undefined {
    return this.sessionsOf(user).find((session) => session.id === id);
  }

  /** Returns the sessions of an account, also those that have ended. */
  sessionsOf(user: UserId): readonly StoredSession[] {
    return this.#unstored.applyTo(user, this.#parts.store.sessions(user));
  }

  byHash(hash: string): OwnedSession | null {
    const unstored = this.#unstored.find((session) => session.hash === hash);
    return unstored ?? this.#current(this.#parts.store.sessionByHash(hash));
  }

  byTicket(hash: string): OwnedSession | null {
    const unstored = this.#unstored.find(({ tickets = [] }) => tickets.some((ticket) => ticket.hash === hash));
    return unstored ?? this.#current(this.#parts.store.sessionByTicket(hash));
  }

  #current(stored: OwnedSession | null): OwnedSession | null {
    const session = stored === null ? undefined : this.find(stored.user, stored.session.id);
    return session === undefined ? null : { user: stored!.user, session };
  }

  /**
   * Changes the sessions of an account, and drops expired ones. Sessions that ended by a password
   * change are kept, as this process may not know the newest password yet.
   * @returns why the change could not be stored and holds in this process only; else null
   */
  write(user: UserId, change: SessionChange): Promise<LoggiaError | null> {
    return this.#inTurn(user, () => this.#write(user, change));
  }

  async #write(user: UserId, change: SessionChange): Promise<LoggiaError | null> {
    const changed = (stored: readonly StoredSession[]): readonly StoredSession[] =>
      change(this.#unstored.applyTo(user, stored).filter((session) => !this.hasLapsed(session)));
    try {
      await this.#parts.store.changeSessions(user, changed);
      this.#unstored.drop(user);
      return null;
    } catch (error) {
      if (!this.#parts.isAlone || !(error instanceof LoggiaError) || error.code !== "store_unavailable") throw error;
      const stored = this.#parts.store.sessions(user);
      this.#unstored.set(user, stored, changed(stored));
      this.#parts.log.warn({ err: error }, "a session could not be stored; it is kept in memory");
      return error;
    }
  }

  /** Tries to store all changes that could not be stored before. */
  async storeUnstored(): Promise<void> {
    for (const user of this.#unstored.users) await this.write(user, (all) => all);
  }

  /** Records a use, and stores it if the stored one is older than `SEEN_STEP_MS`. */
  use({ id, user, seen }: Session): void {
    const now_ms = this.#parts.now();
    this.#used.set(id, now_ms);
    const isDue = now_ms - (this.find(user, id)?.seen ?? seen) >= SEEN_STEP_MS;
    if (isDue || this.#unstored.has(user)) void this.#store(user, id);
  }

  /** Drops the recorded uses of all sessions but these. */
  keepUses(ids: ReadonlySet<string>): void {
    for (const id of this.#used.keys()) if (!ids.has(id)) this.#used.delete(id);
  }

  async #store(user: UserId, id: string): Promise<void> {
    if (this.#storing.has(id)) return;
    if (this.#unstored.has(user)) {
      const now_ms = performance.now();
      if (now_ms - this.#retried_ms < RETRY_MS) return;
      this.#retried_ms = now_ms;
    }
    this.#storing.add(id);
    try {
      await this.write(user, (all) => all.map((one) => (one.id === id ? { ...one, seen: this.#seenOf(one) } : one)));
    } catch (error) {
      this.#parts.log.debug({ err: error }, "the last use of a session could not be stored");
    } finally {
      this.#storing.delete(id);
    }
  }

  #seenOf({ id, seen }: StoredSession): number {
    return Math.max(seen, this.#used.get(id) ?? 0);
  }

  #endOf(session: StoredSession): number {
    return Math.min(session.created + SESSION_LIFE_MS, this.#seenOf(session) + SESSION_IDLE_MS);
  }
}
