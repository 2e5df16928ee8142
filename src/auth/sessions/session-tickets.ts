import { LoggiaError } from "../../errors.ts";
import type { UserId } from "../../events/event.ts";
import type { AccountSession, Session } from "../principals.ts";
import { generateSecret, hashSecret } from "../secrets.ts";
import type { SessionParts, SessionRecords } from "./session-records.ts";
import type { StoredSession, StoredTicket } from "./session-store.ts";

export const TICKET_MS = 60_000;
/** Most tickets of one session. A new ticket replaces the oldest. */
export const MAX_TICKETS = 100;

/** Tickets that each replace a session's cookie once. */
export type SessionTickets = {
  /**
   * Creates a ticket that replaces the session's cookie in one GET of this path within 60 s.
   * @throws LoggiaError `unauthorized` if the session has ended
   */
  createTicket(session: Pick<Session, "id" | "user">, path: string): Promise<string>;
  /**
   * Consumes a ticket. Null if it is unknown, used, expired, or for another path or user.
   * @param user the only account whose ticket is accepted; null: any
   */
  useTicket(ticket: string, path: string, user: UserId | null): Promise<AccountSession | null>;
};

/**
 * Creates tickets that are each valid for one request. They are stored in the session's record, so
 * they end with it, and a use is a guarded write: of two concurrent requests, at any process, one
 * wins.
 */
export function createSessionTickets(
  records: SessionRecords,
  { store, now }: Pick<SessionParts, "store" | "now">,
): SessionTickets {
  /** A ticket that expires too far in the future was created before the clock was set back. */
  const isGood = ({ until }: StoredTicket): boolean => now() < until && until <= now() + 2 * TICKET_MS;

  return {
    async createTicket({ id, user }, path) {
      const secret = generateSecret();
      const ticket: StoredTicket = { hash: hashSecret(secret), path: hashSecret(path), until: now() + TICKET_MS };
      let isMade = false;
      await records.write(user, (all) =>
        all.map((session) => {
          if (session.id !== id || records.isOver(user, session)) return session;
          isMade = true;
          const others = (session.tickets ?? []).filter(isGood).slice(-(MAX_TICKETS - 1));
          return { ...session, tickets: [...others, ticket] };
        }),
      );
      if (isMade) return secret;
      throw new LoggiaError("unauthorized", "The session has ended; sign in again");
    },
    async useTicket(secret, path, user) {
      const hash = hashSecret(secret);
      if (records.byTicket(hash) === null) await store.refreshThrottled();
      const found = records.byTicket(hash);
      if (found === null || (user !== null && found.user !== user)) return null;
      const isThis = (ticket: StoredTicket): boolean => ticket.hash === hash && ticket.path === hashSecret(path);
      let used: AccountSession | null = null;
      await records.write(found.user, (all) => {
        used = null;
        return all.map((session): StoredSession => {
          const tickets = session.tickets ?? [];
          const ticket = tickets.find(isThis);
          if (ticket === undefined) return session;
          if (isGood(ticket)) used = records.show(found.user, session);
          return { ...session, tickets: tickets.filter((one) => one !== ticket) };
        });
      });
      return used;
    },
  };
}
