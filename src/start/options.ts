import type { ShowFirstStart } from "../bootstrap.ts";
import type { PageHandler } from "../http/assets.ts";
import { APPEND_TIMEOUT_MS, POST_DEADLINE_MS } from "./ids.ts";

/** Time limits of posts and of one append to the bus. */
export type PostTimes = { readonly deadline_ms: number; readonly append_ms: number };

export const POST_TIMES: PostTimes = Object.freeze({ deadline_ms: POST_DEADLINE_MS, append_ms: APPEND_TIMEOUT_MS });

/** Options of a start that no setting holds. */
export type StartOptions = {
  /** Called with the secrets of a first start before they are stored. */
  readonly show?: ShowFirstStart;
  /** Monotonic clock of the rate limits, in milliseconds. */
  readonly rateClock?: () => number;
  /** On a cluster, lists wait for late posts as long as {@link POST_TIMES} allow, not longer. */
  readonly postTimes?: PostTimes;
  /** Answers requests for the page; by default with the one that `make page` built. */
  readonly answerPage?: PageHandler;
};
