import type { IncomingMessage } from "node:http";

import type { Catalog, ReceivingHook } from "../../catalog/catalog.ts";
import type { PostClock } from "../../events/clock.ts";
import type { LogKey } from "../../events/event.ts";
import type { BodyShare } from "../../http/body-budget.ts";
import type { Peer } from "../../auth/requests/guesses.ts";
import type { RateLimiter } from "../../ratelimit/rate-limiter.ts";
import type { GuessLimiter } from "../../auth/requests/guess-limiter.ts";
import type { IngestMemory } from "./ingest-memory.ts";
import type { KnownSenders } from "./known-senders.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

export type AdmitOptions = {
  readonly catalog: Catalog;
  readonly limiter: RateLimiter;
  readonly guesses: GuessLimiter;
  readonly clock?: PostClock;
  /** Memory of bodies that are not authenticated yet. */
  readonly memory: Pick<IngestMemory, "unverified" | "proven">;
  readonly knownSenders: KnownSenders;
  readonly scheduler: Scheduler;
};

/** Where a request says that its events go, and its API key; "" if there is none. */
export type GivenKey = { readonly logOfPath: string | null; readonly key: string };

/** Identity of an admitted request. */
export type Admitted = {
  readonly log: LogKey;
  /** Id of the API key, or a name for the signed hook. */
  readonly id: string;
  /** The configured hook; null for a hook that works without configuration. */
  readonly hook: ReceivingHook | null;
  /** The body with its memory, if it was read to verify its signature. The caller releases it. */
  readonly received: { readonly sent: Buffer; readonly share: BodyShare } | null;
};

/**
 * Admits a request to post.
 * @throws LoggiaError `unauthorized`, `forbidden`, `too_many_requests`
 */
export type Admit = (request: IncomingMessage, given: GivenKey, peer: Peer, options: AdmitOptions) => Promise<Admitted>;
