import { LoggiaError } from "../../errors.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { SessionEntity, TicketEntity } from "../../catalog/model.ts";
import { generateSecret, hashSecret } from "../secrets.ts";
import type { AccountSession, SessionParts, SessionRecords } from "./session-records.ts";

export const TICKET_MS = 60_000;
/** Most tickets of one session. A new ticket replaces the oldest. */
export const MAX_TICKETS = 100;

/**
 * Creates tickets that are each valid for one request. They are stored in the session's record, so
 * they end with it, and a use is a guarded write: of two concurrent requests, at any process, one
 * wins.
 * @param parts.refreshThrottled reads changes of other processes, at most a few times a second
 */
export function createSessionTickets(
  records: SessionRecords,
  { refreshThrottled, now }: Pick<SessionParts, "now"> & { readonly refreshThrottled: () => Promise<void> },
): Pick<Catalog, "createTicket" | "useTicket"> {
  /** A ticket that expires too far in the future was created before the clock was set back. */
  const isGood = ({ until }: TicketEntity): boolean => now() < until && until <= now() + 2 * TICKET_MS;

  return {
    async createTicket({ id, user }, path) {
      const secret = generateSecret();
      const ticket: TicketEntity = { hash: hashSecret(secret), path: hashSecret(path), until: now() + TICKET_MS };
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
      if (records.byTicket(hash) === null) await refreshThrottled();
      const found = records.byTicket(hash);
      if (found === null || (user !== null && found.user !== user)) return null;
      const isThis = (ticket: TicketEntity): boolean => ticket.hash === hash && ticket.path === hashSecret(path);
      let used: AccountSession | null = null;
      await records.write(found.user, (all) => {
        used = null;
        return all.map((session): SessionEntity => {
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
