import { LoggiaError } from "../../errors.ts";
import type { UserId } from "../../events/event.ts";
import type { Account, AccountSession, Session } from "../principals.ts";
import { generateId, generateSecret, hashSecret, isGeneratedSecret } from "../secrets.ts";
import type { SessionParts, SessionRecords } from "./session-records.ts";
import type { StoredSession } from "./session-store.ts";

export const MAX_SESSIONS = 100;
const AGENT_LENGTH = 200;

/** The sessions of accounts. */
export type Sessions = {
  /**
   * Creates a session, which ends when the password changes. An account's oldest session ends when
   * it exceeds 100.
   * @param session.password {@link SessionStore.passwordMark} from before the password was checked
   * @returns the session, and its secret, which is returned only here
   * @throws LoggiaError `unauthorized` if the password was changed meanwhile
   */
  createSession(session: {
    account: Account;
    password: string;
    address: string;
    agent: string;
  }): Promise<{ secret: string; session: Session }>;
  /**
   * Returns the session with this secret; null if there is none or it has ended. An unknown one
   * triggers a read of other processes' changes, at most a few times a second.
   */
  session(secret: string): Promise<AccountSession | null>;
  /** Whether a session exists and has not ended, as far as this process knows. */
  hasSession(session: Pick<Session, "id" | "user">): boolean;
  /** Records a use of a session. It is stored in the background, not at every use. */
  useSession(session: Session): void;
  /** The active sessions of an account, oldest first. */
  sessionsOf(user: UserId): readonly Session[];
  /** Ends a session; false if the account has no such active session. */
  endSession(user: UserId, id: string): Promise<boolean>;
  /** Removes ended sessions from storage. @returns how many */
  removeEndedSessions(): Promise<number>;
};

export function createSessions(records: SessionRecords, { store, now }: Pick<SessionParts, "store" | "now">): Sessions {
  const find = (hash: string): AccountSession | null => {
    const found = records.byHash(hash);
    return found === null ? null : records.show(found.user, found.session);
  };

  return {
    async createSession({ account, password, address, agent }) {
      const secret = generateSecret();
      const [hash, moment] = [hashSecret(secret), now()];
      const moments = { created: moment, seen: moment };
      const origin = { address, agent: agent.slice(0, AGENT_LENGTH) };
      const session: StoredSession = { id: generateId(), hash, password, ...moments, ...origin, tickets: [] };
      await records.write(account.id, (all) => [...all.toSorted(byAge).slice(-(MAX_SESSIONS - 1)), session]);
      const made = find(hash);
      if (made !== null) return { secret, session: made.session };
      throw new LoggiaError("unauthorized", "The password was changed meanwhile; sign in with the new one");
    },
    async session(secret) {
      if (!isGeneratedSecret(secret)) return null;
      const hash = hashSecret(secret);
      const found = find(hash);
      if (found !== null) return found;
      await store.refreshThrottled();
      return find(hash);
    },
    hasSession: ({ id, user }) => records.show(user, records.find(user, id)) !== null,
    useSession: (session) => records.use(session),
    sessionsOf: (user) =>
      records
        .sessionsOf(user)
        .toSorted(byAge)
        .flatMap((session) => records.show(user, session)?.session ?? []),
    async endSession(user, id) {
      let isEnded = false;
      const unstored = await records.write(user, (all) => {
        isEnded = all.some((session) => session.id === id && !records.isOver(user, session));
        return all.filter((session) => session.id !== id);
      });
      // A restart would bring the session back, so that this end must not be confirmed.
      if (unstored !== null && store.sessions(user).some((session) => session.id === id)) throw unstored;
      return isEnded;
    },
    async removeEndedSessions() {
      await store.refresh();
      await records.storeUnstored();
      let removed = 0;
      const left = new Set<string>();
      for (const { user, sessions } of store.allSessions()) {
        const kept = sessions.filter((session) => records.isBound(user, session) && !records.hasLapsed(session));
        for (const { id } of kept) left.add(id);
        removed += sessions.length - kept.length;
        if (kept.length === sessions.length) continue;
        const unstored = await records.write(user, (all) => all.filter((session) => records.isBound(user, session)));
        if (unstored !== null) throw unstored;
      }
      records.keepUses(left);
      return removed;
    },
  };
}

function byAge(a: StoredSession, b: StoredSession): number {
  return a.created - b.created;
}
