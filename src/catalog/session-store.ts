import type { SessionStore, StoredSession, StoredStartTicket } from "../auth/sessions/session-store.ts";
import type { Catalog } from "./catalog.ts";
import { documentId } from "./model.ts";
import type { Entity, SessionsEntity, StartTicketEntity } from "./model.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

/**
 * Stores sessions in documents of the catalog. Those of an account share one document, whose guarded
 * writes enforce their limit.
 */
export function createSessionStore(parts: {
  snapshot: Snapshot;
  writer: Writer;
  passwordMark: Catalog["passwordMark"];
  refresh: () => Promise<void>;
  refreshThrottled: () => Promise<void>;
}): SessionStore {
  const { snapshot, writer, passwordMark, refresh, refreshThrottled } = parts;
  const startTicketId = documentId.startTicket();
  return {
    account: (user) => snapshot.accountById(user),
    passwordMark,
    sessions: (user) => snapshot.sessionsOf(user),
    allSessions: () => snapshot.sessions(),
    sessionByHash: (hash) => snapshot.sessionByHash(hash),
    sessionByTicket: (hash) => snapshot.sessionByTicket(hash),
    async changeSessions(user, change) {
      const next = (current: Entity | null): SessionsEntity | null => {
        const stored = current?.kind === "sessions" ? current.sessions : [];
        const sessions = change(stored);
        if (isSame(sessions, stored)) return current as SessionsEntity | null;
        return sessions.length === 0 ? null : { kind: "sessions", user, sessions };
      };
      await writer.write(documentId.sessions(user), next, { readsOthers: true });
    },
    startTicket: () => startTicketIn(snapshot.entry(startTicketId)?.entity ?? null),
    async changeStartTicket(change) {
      await writer.write(startTicketId, (current): StartTicketEntity | null => {
        const stored = startTicketIn(current);
        const next: StoredStartTicket | null = change(stored);
        if (next === stored) return stored;
        return next === null ? null : { ...next, kind: "start-ticket" };
      });
    },
    refresh,
    refreshThrottled,
  };
}

function isSame(some: readonly StoredSession[], others: readonly StoredSession[]): boolean {
  return some.length === others.length && some.every((session, i) => session === others[i]);
}

function startTicketIn(entity: Entity | null): StartTicketEntity | null {
  return entity?.kind === "start-ticket" ? entity : null;
}
