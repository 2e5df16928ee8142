import { LoggiaError } from "../../errors.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { SessionEntity } from "../../catalog/model.ts";
import { generateId, generateSecret, hashSecret, isGeneratedSecret } from "../secrets.ts";
import type { AccountSession, SessionParts, SessionRecords } from "./session-records.ts";

export const MAX_SESSIONS = 100;
const AGENT_LENGTH = 200;

type Sessions = Pick<
  Catalog,
  "createSession" | "session" | "hasSession" | "useSession" | "sessionsOf" | "endSession" | "removeEndedSessions"
>;

/**
 * Implements the sessions of accounts.
 * @param parts.refreshThrottled reads changes of other processes, at most a few times a second
 */
export function createSessions(
  records: SessionRecords,
  parts: Pick<SessionParts, "snapshot" | "now"> & {
    readonly refresh: () => Promise<void>;
    readonly refreshThrottled: () => Promise<void>;
  },
): Sessions {
  const { snapshot, refresh, refreshThrottled, now } = parts;

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
      const session: SessionEntity = { id: generateId(), hash, password, ...moments, ...origin, tickets: [] };
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
      await refreshThrottled();
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
      if (unstored !== null && snapshot.sessionsOf(user).some((session) => session.id === id)) throw unstored;
      return isEnded;
    },
    async removeEndedSessions() {
      await refresh();
      await records.storeUnstored();
      let removed = 0;
      const left = new Set<string>();
      for (const { user, sessions } of snapshot.sessions()) {
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

function byAge(a: SessionEntity, b: SessionEntity): number {
  return a.created - b.created;
}
