import type { Logger } from "pino";

import { errorStatus } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import type { Sender } from "../ratelimit/address.ts";
import type { RateLimiter } from "../ratelimit/rate-limiter.ts";
import { publicError } from "./errors.ts";

/** A request that failed. `route` is a path with placeholders, or a protocol. */
export type FailedRequest = { readonly method: string; readonly route: string; readonly sender: Sender };

/** Failures of one code, method and route within an interval. */
type Alike = { unlogged: number; last: Readonly<Record<string, unknown>>; timer: NodeJS.Timeout };

const INTERVAL_MS = 1_000;

/**
 * Logs requests that failed with a status of 500 or above: of each code, method and route the first
 * at once, then a line a second with a count, so that an engine's outage does not fill the disk.
 * Only unexpected errors are logged with their stack.
 */
export class FailureLog implements Disposable {
  readonly #alike = new Map<string, Alike>();
  readonly #log: Pick<Logger, "error">;
  readonly #limiter: Pick<RateLimiter, "addressOf">;
  readonly #interval_ms: number;

  constructor(log: Pick<Logger, "error">, limiter: Pick<RateLimiter, "addressOf">, interval_ms = INTERVAL_MS) {
    this.#log = log;
    this.#limiter = limiter;
    this.#interval_ms = interval_ms;
  }

  /** Logs or counts an error that a request failed with, unless the client caused it. */
  note(error: unknown, { method, route, sender }: FailedRequest): void {
    const shown = publicError(error);
    if (errorStatus(shown) < 500) return;
    const what = shown === error ? { reason: reasonWithCauses(error as Error) } : { err: error };
    const last = { code: shown.code, method, route, address: this.#limiter.addressOf(sender), ...what };
    const key = keyOf(shown.code, method, route);
    const alike = this.#alike.get(key);
    if (alike === undefined) {
      this.#write(last, 1);
      const timer = setInterval(() => this.#endInterval(key), this.#interval_ms).unref();
      this.#alike.set(key, { unlogged: 0, last, timer });
      return;
    }
    alike.unlogged += 1;
    alike.last = last;
  }

  /** Logs the counts that are not logged yet. */
  [Symbol.dispose](): void {
    for (const key of this.#alike.keys()) {
      this.#endInterval(key);
      this.#forget(key);
    }
  }

  #endInterval(key: string): void {
    const alike = this.#alike.get(key);
    if (alike === undefined) return;
    if (alike.unlogged === 0) return this.#forget(key);
    this.#write(alike.last, alike.unlogged);
    alike.unlogged = 0;
  }

  #forget(key: string): void {
    clearInterval(this.#alike.get(key)?.timer);
    this.#alike.delete(key);
  }

  #write(last: Alike["last"], count: number): void {
    const message = "err" in last ? "failed with an unexpected error" : "failed";
    this.#log.error({ ...last, count }, count === 1 ? `a request ${message}` : `${count} requests ${message}`);
  }
}

function keyOf(code: ErrorCode, method: string, route: string): string {
  return `${code} ${method} ${route}`;
}

const CAUSES_MAX = 5;

/** Joins the messages of an error and its causes, each once. */
function reasonWithCauses(error: Error): string {
  let reason = error.message;
  let { cause } = error;
  for (let n = 0; cause instanceof Error && n < CAUSES_MAX; n++, cause = cause.cause) {
    if (!reason.includes(cause.message)) reason += `: ${cause.message}`;
  }
  return reason;
}
