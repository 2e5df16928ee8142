import type { Logger } from "pino";

import { LoggiaError } from "../errors.ts";
import type { UserId } from "../events/event.ts";
import type { Account, Catalog, Session } from "./catalog.ts";
import { idOf } from "./model.ts";
import type { Entity, SessionEntity, SessionsEntity } from "./model.ts";
import { drawId, drawSecret, hashSecret, isDrawnSecret } from "./secrets.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

export const SESSION_IDLE_MS = 12 * 3_600_000;
export const SESSION_LIFE_MS = 7 * 86_400_000;
export const MAX_SESSIONS = 100;
/** How far the stored moment of the last use may lag behind, so that not every request writes it. */
export const SEEN_STEP_MS = 300_000;
/** A session that began later than this from now was made by a clock that was wrong. */
const FUTURE_MS = 3_600_000;

const AGENT_LENGTH = 200;

type Sessions = Pick<
  Catalog,
  "createSession" | "session" | "hasSession" | "useSession" | "sessionsOf" | "endSession" | "removeEndedSessions"
>;

export type SessionParts = {
  readonly snapshot: Snapshot;
  readonly writer: Writer;
  readonly passwordMark: Catalog["passwordMark"];
  readonly refresh: () => Promise<void>;
  /** Takes in others' changes, at most a few times a second. */
  readonly look: () => Promise<void>;
  readonly now: () => number;
  readonly log: Logger;
};

/**
 * The sessions of people. Those of one account stand in one document, so that their number is held
 * by its guarded writes. A session is bound to the account's password hash: it ends in each process
 * as that takes in a new password or the removal of the account.
 */
export function createSessions(parts: SessionParts): Sessions {
  const { snapshot, writer, passwordMark, refresh, look, now, log } = parts;
  /** When this process last saw a session used, where that is not stored yet. */
  const used = new Map<string, number>();
  const storing = new Set<string>();

  const seenOf = ({ id, seen }: SessionEntity): number => Math.max(seen, used.get(id) ?? 0);

  const endOf = (session: SessionEntity): number =>
    Math.min(session.created + SESSION_LIFE_MS, seenOf(session) + SESSION_IDLE_MS);

  const isBound = (user: UserId, { password }: SessionEntity): boolean => password === passwordMark(user);

  const isOver = (user: UserId, session: SessionEntity): boolean => {
    const now_ms = now();
    return now_ms >= endOf(session) || session.created > now_ms + FUTURE_MS || !isBound(user, session);
  };

  /** Whether a session has lapsed for certain, also where another process saw it used. */
  const hasLapsed = (session: SessionEntity): boolean => now() >= endOf(session) + SEEN_STEP_MS;

  const show = (user: UserId, entity: SessionEntity): Session => {
    const { id, created, address, agent } = entity;
    return { id, user, created, seen: seenOf(entity), expires: endOf(entity), address, agent };
  };

  const known = (secretHash: string): { account: Account; session: Session } | null => {
    const found = snapshot.sessionByHash(secretHash);
    const account = found === null ? null : snapshot.accountById(found.user);
    if (found === null || account === null || isOver(found.user, found.session)) return null;
    return { account, session: show(found.user, found.session) };
  };

  /**
   * Changes the sessions of an account; what has lapsed is left out. What ended with a password is
   * not: this process may not know the newest one yet.
   */
  const write = (user: UserId, change: (sessions: readonly SessionEntity[]) => readonly SessionEntity[]) =>
    writer.write(
      idOf.sessions(user),
      (current): SessionsEntity | null => {
        const before = sessionsIn(current);
        const sessions = change(before.filter((session) => !hasLapsed(session)));
        if (isSame(sessions, before)) return current as SessionsEntity | null;
        return sessions.length === 0 ? null : { kind: "sessions", user, sessions };
      },
      { readsOthers: true },
    );

  const store = async (user: UserId, id: string): Promise<void> => {
    if (storing.has(id)) return;
    storing.add(id);
    try {
      await write(user, (all) => all.map((one) => (one.id === id ? { ...one, seen: seenOf(one) } : one)));
    } catch (error) {
      log.debug({ err: error }, "that a session was used could not be stored");
    } finally {
      storing.delete(id);
    }
  };

  return {
    async createSession({ account, password, address, agent }) {
      const secret = drawSecret();
      const moment = now();
      const session: SessionEntity = {
        id: drawId(),
        hash: hashSecret(secret),
        password,
        created: moment,
        seen: moment,
        address,
        agent: agent.slice(0, AGENT_LENGTH),
      };
      await write(account.id, (all) => [...all.toSorted(byAge).slice(-(MAX_SESSIONS - 1)), session]);
      const made = known(session.hash);
      if (made !== null) return { secret, session: made.session };
      throw new LoggiaError("unauthorized", "The password was changed meanwhile; sign in with the new one");
    },
    async session(secret) {
      if (!isDrawnSecret(secret)) return null;
      const secretHash = hashSecret(secret);
      const found = known(secretHash);
      if (found !== null) return found;
      await look();
      return known(secretHash);
    },
    hasSession: ({ id, user }) => {
      const session = snapshot.sessionsOf(user).find((one) => one.id === id);
      return session !== undefined && !isOver(user, session);
    },
    useSession({ id, user, seen }) {
      const now_ms = now();
      used.set(id, now_ms);
      const stored = snapshot.sessionsOf(user).find((session) => session.id === id)?.seen ?? seen;
      if (now_ms - stored >= SEEN_STEP_MS) void store(user, id);
    },
    sessionsOf: (user) =>
      snapshot
        .sessionsOf(user)
        .filter((session) => !isOver(user, session))
        .toSorted(byAge)
        .map((session) => show(user, session)),
    async endSession(user, id) {
      let isEnded = false;
      await write(user, (all) => {
        isEnded = all.some((session) => session.id === id && !isOver(user, session));
        return all.filter((session) => session.id !== id);
      });
      used.delete(id);
      return isEnded;
    },
    async removeEndedSessions() {
      await refresh();
      let removed = 0;
      const left = new Set<string>();
      for (const { user, sessions } of snapshot.sessions()) {
        const isLeft = (session: SessionEntity): boolean => isBound(user, session) && !hasLapsed(session);
        const kept = sessions.filter(isLeft);
        for (const { id } of kept) left.add(id);
        removed += sessions.length - kept.length;
        if (kept.length < sessions.length) await write(user, (all) => all.filter(isLeft));
      }
      for (const id of used.keys()) if (!left.has(id)) used.delete(id);
      return removed;
    },
  };
}

function sessionsIn(entity: Entity | null): readonly SessionEntity[] {
  return entity?.kind === "sessions" ? entity.sessions : [];
}

function isSame(some: readonly SessionEntity[], others: readonly SessionEntity[]): boolean {
  return some.length === others.length && some.every((session, i) => session === others[i]);
}

function byAge(a: SessionEntity, b: SessionEntity): number {
  return a.created - b.created;
}
