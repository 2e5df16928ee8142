import type { UserId } from "../../events/event.ts";
import type { Account } from "../principals.ts";
import { generateSecret, hashSecret, isGeneratedSecret } from "../secrets.ts";
import type { SessionParts } from "./session-records.ts";
import type { StoredStartTicket } from "./session-store.ts";

export const START_TICKET_MS = 600_000;

/** The ticket that signs in the admin after the first start. */
export type StartTicket = {
  /**
   * Creates a ticket that signs an account in once, within ten minutes, and replaces any earlier
   * one. Null if there is no such account.
   */
  createStartTicket(user: UserId): Promise<string | null>;
  /** Consumes such a ticket. Null if it is unknown, used or expired. */
  useStartTicket(ticket: string): Promise<Account | null>;
};

/**
 * Implements the ticket. It is one record, and its guarded removal is the use: of two concurrent
 * requests, one wins.
 */
export function createStartTicket({
  store,
  now,
}: Pick<SessionParts, "store" | "now">): StartTicket & { removeExpired(): Promise<void> } {
  const isOver = ({ user, password, until }: StoredStartTicket): boolean => {
    const now_ms = now();
    return now_ms >= until || until > now_ms + 2 * START_TICKET_MS || password !== store.passwordMark(user);
  };

  return {
    async createStartTicket(user) {
      const password = store.passwordMark(user);
      if (password === null) return null;
      const secret = generateSecret();
      const ticket = { hash: hashSecret(secret), user, password, until: now() + START_TICKET_MS };
      await store.changeStartTicket(() => ticket);
      return secret;
    },
    async useStartTicket(secret) {
      if (!isGeneratedSecret(secret)) return null;
      const hash = hashSecret(secret);
      if (store.startTicket()?.hash !== hash) await store.refreshThrottled();
      if (store.startTicket()?.hash !== hash) return null;
      let used: StoredStartTicket | null = null;
      await store.changeStartTicket((ticket) => {
        used = ticket?.hash === hash ? ticket : null;
        return used === null ? ticket : null;
      });
      return used === null || isOver(used) ? null : store.account((used as StoredStartTicket).user);
    },
    async removeExpired() {
      const ticket = store.startTicket();
      if (ticket === null || !isOver(ticket)) return;
      await store.changeStartTicket((current) => (current?.hash === ticket.hash ? null : current));
    },
  };
}
