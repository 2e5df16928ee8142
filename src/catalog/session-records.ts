import type { Logger } from "pino";

import type { UserId } from "../events/event.ts";
import type { Account, Catalog, Session } from "./catalog.ts";
import { idOf } from "./model.ts";
import type { Entity, SessionEntity, SessionsEntity } from "./model.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

export const SESSION_IDLE_MS = 12 * 3_600_000;
export const SESSION_LIFE_MS = 7 * 86_400_000;
/** How far the stored moment of the last use may lag behind, so that not every request writes it. */
export const SEEN_STEP_MS = 300_000;
/** A session that began later than this from now was made by a clock that was wrong. */
const FUTURE_MS = 3_600_000;

export type SessionParts = {
  readonly snapshot: Snapshot;
  readonly writer: Writer;
  readonly passwordMark: Catalog["passwordMark"];
  /** The time that is believed. */
  readonly now: () => number;
  readonly log: Logger;
};

export type KnownSession = { readonly account: Account; readonly session: Session };

/** A change of all sessions of an account. */
type Change = (sessions: readonly SessionEntity[]) => readonly SessionEntity[];

/**
 * What is stored of sessions, and when they are over. Those of one account stand in one document, so
 * that their number is held by its guarded writes. A session is bound to the account's password
 * hash: it ends in each process as that takes in a new password or the removal of the account.
 */
export class SessionRecords {
  readonly #parts: SessionParts;
  /** When this process last saw a session used, where that is not stored yet. */
  readonly #used = new Map<string, number>();
  readonly #storing = new Set<string>();

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  isOver(user: UserId, session: SessionEntity): boolean {
    const now_ms = this.#parts.now();
    const isAhead = session.created > now_ms + FUTURE_MS;
    return isAhead || now_ms >= this.#endOf(session) || !this.isBound(user, session);
  }

  /** Whether the account still has the password that the session began with. */
  isBound(user: UserId, { password }: SessionEntity): boolean {
    return password === this.#parts.passwordMark(user);
  }

  /** Whether a session has lapsed for certain, also where another process saw it used. */
  hasLapsed(session: SessionEntity): boolean {
    return this.#parts.now() >= this.#endOf(session) + SEEN_STEP_MS;
  }

  /** A session with its account; null where it is over. */
  show(user: UserId, entity: SessionEntity | undefined): KnownSession | null {
    const account = this.#parts.snapshot.accountById(user);
    if (entity === undefined || account === null || this.isOver(user, entity)) return null;
    const { id, created, address, agent } = entity;
    const [seen, expires] = [this.#seenOf(entity), this.#endOf(entity)];
    return { account, session: { id, user, created, seen, expires, address, agent } };
  }

  find(user: UserId, id: string): SessionEntity | undefined {
    return this.#parts.snapshot.sessionsOf(user).find((session) => session.id === id);
  }

  /**
   * Changes the sessions of an account; what has lapsed is left out. What ended with a password is
   * not: this process may not know the newest one yet.
   */
  async write(user: UserId, change: Change): Promise<void> {
    const next = (current: Entity | null): SessionsEntity | null => {
      const before = current?.kind === "sessions" ? current.sessions : [];
      const sessions = change(before.filter((session) => !this.hasLapsed(session)));
      if (isSame(sessions, before)) return current as SessionsEntity | null;
      return sessions.length === 0 ? null : { kind: "sessions", user, sessions };
    };
    await this.#parts.writer.write(idOf.sessions(user), next, { readsOthers: true });
  }

  /** Notes a use, and stores it where the stored one is old. */
  use({ id, user, seen }: Session): void {
    const now_ms = this.#parts.now();
    this.#used.set(id, now_ms);
    if (now_ms - (this.find(user, id)?.seen ?? seen) >= SEEN_STEP_MS) void this.#store(user, id);
  }

  /** Forgets the uses of all sessions but these. */
  keepUses(ids: ReadonlySet<string>): void {
    for (const id of this.#used.keys()) if (!ids.has(id)) this.#used.delete(id);
  }

  async #store(user: UserId, id: string): Promise<void> {
    if (this.#storing.has(id)) return;
    this.#storing.add(id);
    try {
      await this.write(user, (all) => all.map((one) => (one.id === id ? { ...one, seen: this.#seenOf(one) } : one)));
    } catch (error) {
      this.#parts.log.debug({ err: error }, "that a session was used could not be stored");
    } finally {
      this.#storing.delete(id);
    }
  }

  #seenOf({ id, seen }: SessionEntity): number {
    return Math.max(seen, this.#used.get(id) ?? 0);
  }

  #endOf(session: SessionEntity): number {
    return Math.min(session.created + SESSION_LIFE_MS, this.#seenOf(session) + SESSION_IDLE_MS);
  }
}

function isSame(some: readonly SessionEntity[], others: readonly SessionEntity[]): boolean {
  return some.length === others.length && some.every((session, i) => session === others[i]);
}
