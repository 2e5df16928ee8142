import type { Logger } from "pino";

import type { DeletionLog } from "../bus/deletions.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { PreviewHook } from "../catalog/hook-preview.ts";
import { createRateLimiter } from "../ratelimit/rate-limiter.ts";
import type { RateLimiter } from "../ratelimit/rate-limiter.ts";
import { GuessLimiter } from "../auth/requests/guess-limiter.ts";
import { mayAskForBasic } from "../auth/requests/session-cookie.ts";
import { LISTENERS } from "../http/listen.ts";
import { createOriginCheck } from "../auth/requests/origin-check.ts";
import type { OriginCheck } from "../auth/requests/origin-check.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../http/limits/connection-limits.ts";
import type { ConnectionLimits } from "../http/limits/connection-limits.ts";
import type { Observer, Route } from "../http/route.ts";
import { createHttpServer } from "../http/server.ts";
import type { HttpServer, HttpServerOptions } from "../http/server.ts";
import type { Operations } from "../operations/operations.ts";
import type { Reclassifications } from "../operations/reclassification.ts";
import type { Store } from "../store/store.ts";
import { AttributeHints } from "./attribute-hints.ts";
import type { Context, PostingAddress } from "./context.ts";
import { mountRoute } from "./define-route.ts";
import { apiEndpoints } from "./endpoints.ts";
import type { ReadWatermark } from "./read-watermark.ts";
import { createTailBudget } from "./tail.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

export type ApiOptions = {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly deletions: DeletionLog;
  /** Shares the thread with background work. */
  readonly scheduler: Scheduler;
  readonly log: Logger;
  /** Current time in milliseconds since the Unix epoch, for NOW and TODAY in queries. */
  readonly now?: () => number;
  readonly limits?: ConnectionLimits;
  readonly observe?: Observer;
  readonly onEvicted?: NonNullable<HttpServerOptions["onEvicted"]>;
  /** Applied to every request. Default: a new limiter */
  readonly limiter?: RateLimiter;
  /** Counts wrong credentials. Default: a new one */
  readonly guesses?: GuessLimiter;
  /** Default: a guard that allows only loopback names and the machine's own names. */
  readonly browsers?: OriginCheck;
  /** Handles some requests before routing; returns true if it did. */
  readonly answerFirst?: NonNullable<HttpServerOptions["answerFirst"]>;
  /** Owned by the caller. Default: null, for one process that accepts and indexes in order. */
  readonly readWatermark?: ReadWatermark | null;
  /** Default: the standard port. */
  readonly posting?: () => PostingAddress;
  readonly previewHook?: PreviewHook;
  readonly operations?: Operations;
  readonly reclassifications?: Reclassifications;
};

/** Limits of request bodies. Forms and JSON are small here; events go to another listener. */
const BODY = Object.freeze({ limit_bytes: 64 * 1024, deadline_ms: 10_000 });

/** Returns all routes of the API. */
export function apiRoutes(parts: Omit<Context, "attributes" | "body" | "tails">): Route[] {
  const own = {
    attributes: new AttributeHints(parts.store, { querying: parts.scheduler.querying }),
    tails: createTailBudget(),
    body: { ...BODY, scheduler: parts.scheduler },
  };
  const context: Context = { ...parts, ...own };
  return apiEndpoints().map((endpoint) => mountRoute(context, endpoint));
}

/** Creates the server of the reading API (`/1`) and the management API (`/manage/1`). */
export function createApi(options: ApiOptions): HttpServer {
  const {
    catalog,
    store,
    deletions,
    scheduler,
    log,
    now = Date.now,
    limits = DEFAULT_CONNECTION_LIMITS,
    observe,
    onEvicted,
    limiter = createRateLimiter(),
    guesses = new GuessLimiter(),
    browsers = createOriginCheck(),
    answerFirst,
    readWatermark = null,
    posting = () => ({ url: null, port: 8081, mail: false }),
    previewHook,
    operations,
    reclassifications,
  } = options;
  return createHttpServer({
    routes: apiRoutes({
      catalog,
      store,
      deletions,
      scheduler,
      log,
      now,
      limiter,
      guesses,
      browsers,
      readWatermark,
      posting,
      previewHook,
      operations,
      reclassifications,
    }),
    log,
    scheduler,
    limits,
    listener: LISTENERS.api,
    observe,
    onEvicted,
    limiter,
    mayAskForBasic,
    answerFirst,
  });
}
