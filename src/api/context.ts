import type { Logger } from "pino";

import type { DeletionLog } from "../bus/deletions.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { PreviewHook } from "../catalog/hook-preview.ts";
import type { Caller } from "../auth/permissions.ts";
import { parseEventId } from "../events/id.ts";
import type { EventId } from "../events/id.ts";
import type { Budget } from "../ratelimit/budget.ts";
import type { RateLimiter } from "../ratelimit/rate-limiter.ts";
import type { BodyOptions } from "../http/body.ts";
import type { GuessLimiter } from "../auth/requests/guess-limiter.ts";
import type { OriginCheck } from "../auth/requests/origin-check.ts";
import type { Call } from "../http/route.ts";
import type { Operations } from "../operations/operations.ts";
import type { Reclassifications } from "../operations/reclassification.ts";
import type { Store } from "../store/store.ts";
import type { ReadWatermark } from "./read-watermark.ts";
import type { AttributeHints } from "./attribute-hints.ts";
import type { ResponseMemory } from "./response-memory.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

/** Address for producers: `url`, or if it is null, `port` on the host that serves the API. */
export type PostingAddress = {
  readonly url: string | null;
  readonly port: number;
  /** Whether a channel is configured, so that readers can get notices about events. */
  readonly mail: boolean;
};

/** Dependencies of the API's handlers. */
export type Context = {
  readonly catalog: Catalog;
  readonly store: Store;
  /** Makes deletions durable before they are applied. */
  readonly deletions: DeletionLog;
  readonly log: Logger;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly body: BodyOptions;
  readonly scheduler: Scheduler;
  /** End of lists with `sinceid`; null if all that is visible is complete, as in one process. */
  readonly readWatermark: ReadWatermark | null;
  readonly limiter: RateLimiter;
  readonly guesses: GuessLimiter;
  readonly browsers: OriginCheck;
  readonly attributes: AttributeHints;
  /** Open tails, limited per account and in total. */
  readonly tails: Budget;
  readonly posting: () => PostingAddress;
  /** Reads an example of a hook's body as the posting listener does; absent: it reads none. */
  readonly previewHook?: PreviewHook | undefined;
  /** Orders to reclassify stored events; absent: not available. */
  readonly reclassifications?: Reclassifications | undefined;
  /** Operations for service admins; absent: not available. */
  readonly operations?: Operations | undefined;
};

/** An authenticated request. */
export type ApiCall = Call & { readonly caller: Caller; readonly memory: ResponseMemory };

/** Returns the event id in the path, or null if it is malformed. */
export function eventIdParameter(call: Call): EventId | null {
  return parseEventId(call.params["id"] ?? "");
}
