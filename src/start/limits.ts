import type { Logger } from "pino";

import { createFailedSignIns } from "../auth/requests/failed-sign-ins.ts";
import { GuessLimiter } from "../auth/requests/guess-limiter.ts";
import type { Metrics } from "../monitoring/metrics.ts";
import { createRateLimiter } from "../ratelimit/rate-limiter.ts";
import type { RateLimiter } from "../ratelimit/rate-limiter.ts";
import type { Settings } from "../settings.ts";
import { responseMemory_mb } from "./memory.ts";

/** Limits of requests and of guesses, shared by all roles of the process. */
export type Limits = { readonly limiter: RateLimiter; readonly guesses: GuessLimiter };

export function createLimits(
  settings: Settings,
  options: { readonly metrics: Pick<Metrics, "refused">; readonly now: () => number; readonly log: Logger },
  closing: AsyncDisposableStack,
): Limits {
  const { rates, trustedProxies } = settings;
  const { metrics, now, log } = options;
  const failedSignIns = closing.use(createFailedSignIns(log));
  const limiter = createRateLimiter({
    rates: { ...rates, answers_mb: responseMemory_mb(settings) },
    trustedProxies,
    refused: (reason) => metrics.refused(reason),
    now,
  });
  const guesses = new GuessLimiter({
    failures: rates.failures,
    trustedProxies,
    refused: () => metrics.refused("failures"),
    wrong: (wrong, address) => failedSignIns.note(wrong, address),
    now,
  });
  return { limiter, guesses };
}
