import type { Catalog } from "../../catalog/catalog.ts";
import { idOf } from "../../catalog/model.ts";
import type { Entity, StartTicketEntity } from "../../catalog/model.ts";
import { generateSecret, hashSecret, isGeneratedSecret } from "../secrets.ts";
import type { SessionParts } from "./session-records.ts";

export const START_TICKET_MS = 600_000;

type StartTicket = Pick<Catalog, "createStartTicket" | "useStartTicket"> & { removeExpired(): Promise<void> };

/**
 * Implements the ticket that signs in the admin after the first start. It is one document, and its
 * guarded removal is the use: of two concurrent requests, one wins.
 * @param parts.refreshThrottled reads changes of other processes, at most a few times a second
 */
export function createStartTicket(
  parts: Pick<SessionParts, "snapshot" | "writer" | "passwordMark" | "now"> & {
    readonly refreshThrottled: () => Promise<void>;
  },
): StartTicket {
  const { snapshot, writer, passwordMark, refreshThrottled, now } = parts;
  const id = idOf.startTicket();

  const readTicket = (): StartTicketEntity | null => ticketIn(snapshot.entry(id)?.entity ?? null);

  const isOver = ({ user, password, until }: StartTicketEntity): boolean => {
    const now_ms = now();
    return now_ms >= until || until > now_ms + 2 * START_TICKET_MS || password !== passwordMark(user);
  };

  return {
    async createStartTicket(user) {
      const password = passwordMark(user);
      if (password === null) return null;
      const secret = generateSecret();
      const ticket = { hash: hashSecret(secret), user, password, until: now() + START_TICKET_MS };
      await writer.write(id, (): StartTicketEntity => ({ kind: "start-ticket", ...ticket }));
      return secret;
    },
    async useStartTicket(secret) {
      if (!isGeneratedSecret(secret)) return null;
      const hash = hashSecret(secret);
      if (readTicket()?.hash !== hash) await refreshThrottled();
      if (readTicket()?.hash !== hash) return null;
      let used: StartTicketEntity | null = null;
      await writer.write(id, (current) => {
        const ticket = ticketIn(current);
        used = ticket?.hash === hash ? ticket : null;
        return used === null ? current : null;
      });
      return used === null || isOver(used) ? null : snapshot.accountById((used as StartTicketEntity).user);
    },
    async removeExpired() {
      const ticket = readTicket();
      if (ticket === null || !isOver(ticket)) return;
      await writer.write(id, (current) => (ticketIn(current)?.hash === ticket.hash ? null : current));
    },
  };
}

function ticketIn(entity: Entity | null): StartTicketEntity | null {
  return entity?.kind === "start-ticket" ? entity : null;
}
