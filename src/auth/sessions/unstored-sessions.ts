import type { UserId } from "../../events/event.ts";
import type { OwnedSession, StoredSession } from "./session-store.ts";

/**
 * Changes of sessions that could not be stored, as while the disk is full. They hold in this process
 * until the next write of the account's sessions stores them.
 */
export class UnstoredSessions {
  /** By account and id of the session; null: the session has ended. */
  readonly #changes = new Map<UserId, ReadonlyMap<string, StoredSession | null>>();

  get users(): readonly UserId[] {
    return [...this.#changes.keys()];
  }

  has(user: UserId): boolean {
    return this.#changes.has(user);
  }

  /** Returns the stored sessions of an account with its changes. */
  applyTo(user: UserId, stored: readonly StoredSession[]): readonly StoredSession[] {
    const changes = this.#changes.get(user);
    if (changes === undefined) return stored;
    const current = new Map<string, StoredSession | null>(stored.map((session) => [session.id, session]));
    for (const [id, session] of changes) current.set(id, session);
    return [...current.values()].filter((session) => session !== null);
  }

  /** Replaces the changes of an account by what turns the stored sessions into the current ones. */
  set(user: UserId, stored: readonly StoredSession[], current: readonly StoredSession[]): void {
    const changes = new Map<string, StoredSession | null>(stored.map(({ id }) => [id, null]));
    for (const session of current) {
      if (stored.includes(session)) changes.delete(session.id);
      else changes.set(session.id, session);
    }
    if (changes.size === 0) this.#changes.delete(user);
    else this.#changes.set(user, changes);
  }

  /** Drops the changes of an account, as they have been stored. */
  drop(user: UserId): void {
    this.#changes.delete(user);
  }

  find(isMatch: (session: StoredSession) => boolean): OwnedSession | null {
    for (const [user, changes] of this.#changes) {
      for (const session of changes.values()) if (session !== null && isMatch(session)) return { user, session };
    }
    return null;
  }
}
