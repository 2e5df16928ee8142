import type { Logger } from "pino";

import { createAccounts } from "./accounts.ts";
import { createApiKeys } from "./api-keys.ts";
import { createAuthenticator } from "../auth/passwords/authenticator.ts";
import type { AccountLimits, Catalog } from "./catalog.ts";
import { CATALOG_POLL_MS } from "./catalog.ts";
import { createClassFilters } from "./class-filters.ts";
import type { Documents } from "./documents/documents.ts";
import { createFirstStart } from "./first-start.ts";
import { createFollower } from "./follower.ts";
import { createHooks } from "./hooks.ts";
import { createLogs } from "./logs.ts";
import { createPasswordHasher } from "../auth/passwords/password-hasher.ts";
import { createQuotas, DEFAULT_ACCOUNT_LIMITS } from "./quotas.ts";
import { createSavedQueries } from "./saved-queries.ts";
import { SessionRecords } from "../auth/sessions/session-records.ts";
import { createSessionTickets } from "../auth/sessions/session-tickets.ts";
import { createSessions } from "../auth/sessions/sessions.ts";
import { createSessionStore } from "./session-store.ts";
import { createSnapshot } from "./snapshot.ts";
import { createStartTicket } from "../auth/sessions/start-ticket.ts";
import { createWriter } from "./writer.ts";
import { Scheduler } from "../scheduling/scheduler.ts";

/**
 * Creates the catalog over a document store. It owns the store from then on and disposes it. The
 * whole store is read before this resolves; then changes of other processes are followed.
 *
 * @param options.poll_ms interval at which changes of other processes are read
 * @param options.limits limits per account
 * @param options.now trusted clock: times attempts and the end of sessions
 * @param options.isAlone whether no other process serves sessions; then changes of sessions that
 * cannot be stored are kept in memory (false)
 * @param options.scheduler shares the thread with requests (one of its own)
 * @throws LoggiaError `store_unavailable` if the store cannot be read
 */
export async function createCatalog(options: {
  documents: Documents;
  log: Logger;
  poll_ms?: number;
  limits?: AccountLimits;
  now?: () => number;
  isAlone?: boolean;
  scheduler?: Scheduler;
}): Promise<Catalog> {
  const { documents, log, poll_ms = CATALOG_POLL_MS, limits = DEFAULT_ACCOUNT_LIMITS } = options;
  const { now = () => Date.now(), isAlone = false, scheduler = new Scheduler() } = options;
  const snapshot = createSnapshot();
  const follower = await createFollower({ documents, snapshot, log, poll_ms, scheduler });
  const { refresh, refreshThrottled } = follower;
  const writer = createWriter({ documents, snapshot, refresh });
  const quotas = createQuotas({ snapshot, writer, limits, now });
  const hasher = createPasswordHasher();
  const accounts = createAccounts({ snapshot, writer, refresh, hasher });
  const { passwordMark } = accounts;
  const store = createSessionStore({ snapshot, writer, passwordMark, refresh, refreshThrottled });
  const startTicket = createStartTicket({ store, now });
  const records = new SessionRecords({ store, now, log, isAlone });
  const sessions = createSessions(records, { store, now });
  return {
    ...accounts,
    authenticate: createAuthenticator(
      {
        account: (email) => snapshot.account(email),
        storedPassword: (email) => snapshot.accountEntity(email)?.password ?? null,
      },
      hasher,
    ),
    ...createLogs({ snapshot, writer, quotas, refresh }),
    ...createApiKeys({ snapshot, writer, quotas, refresh, refreshThrottled }),
    ...createClassFilters({ snapshot, writer, quotas, refresh }),
    ...createSavedQueries({ snapshot, writer, refresh }),
    ...createHooks({ snapshot, writer, refresh, refreshThrottled }),
    ...startTicket,
    ...sessions,
    ...createSessionTickets(records, { store, now }),
    async removeEndedSessions() {
      const removed = await sessions.removeEndedSessions();
      await startTicket.removeExpired();
      return removed;
    },
    firstStart: createFirstStart({ snapshot, writer, refresh }),
    refresh,
    async ping() {
      await documents.ping();
      follower.checkFresh();
    },
    async [Symbol.asyncDispose]() {
      await follower[Symbol.asyncDispose]();
      await documents[Symbol.asyncDispose]();
    },
  };
}
