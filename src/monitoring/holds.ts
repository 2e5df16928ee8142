import type { Logger } from "pino";

import { LoggiaError } from "../errors.ts";
import type { Dependency } from "./dependencies.ts";

/** All kinds of holds. The names are part of the wire format: metrics and routes contain them. */
export const HOLDS = ["clock", "bus", "store", "catalog"] as const;
export type HoldName = (typeof HOLDS)[number];

/** An operation that waits for an operator's decision. */
export type Hold = {
  readonly name: HoldName;
  /** The finding. It is public in `/health/ready`, so it names no person, log or key. */
  readonly why: string;
  /** What an operator can do about it. */
  readonly todo: string;
  /** Dependency whose listeners are not ready during the hold; null if readiness is unaffected. */
  readonly blocks: Dependency | null;
};

export type NewHold = Hold & {
  /** Performs or abandons the operation that was held back. The hold ends once this has resolved. */
  readonly accept: () => Promise<void> | void;
};

/** Holds of this process, at most one of each name. */
export type Holds = {
  /** Begins a hold and logs it, or updates an existing one. */
  set(hold: NewHold): void;
  /** Ends a hold whose cause is gone. Does nothing if there is none. */
  clear(name: HoldName): void;
  list(): readonly Hold[];
  /** Resolves once there is no hold of this name. */
  gone(name: HoldName): Promise<void>;
  /**
   * Accepts a hold, as decided by an operator.
   * @throws LoggiaError `conflict` if there is no such hold; any error of the hold's `accept`
   */
  accept(name: HoldName): Promise<Hold>;
};

const LOG_AGAIN_MS = 3_600_000;

/**
 * Creates the holds of a process. A hold is logged when it begins, and then once an hour while
 * `set` repeats it.
 * @param options.elapsed monotonic clock, in milliseconds
 */
export function createHolds({
  log,
  elapsed = () => performance.now(),
}: {
  readonly log: Logger;
  readonly elapsed?: () => number;
}): Holds {
  const holds = new Map<HoldName, { readonly hold: NewHold; readonly logged_ms: number }>();
  const gone = new Map<HoldName, PromiseWithResolvers<void>>();

  function end(name: HoldName, message: string): void {
    if (!holds.delete(name)) return;
    log.warn({ hold: name }, message);
    gone.get(name)?.resolve();
    gone.delete(name);
  }

  return {
    set(hold) {
      const last_ms = holds.get(hold.name)?.logged_ms ?? -Infinity;
      const isDue = elapsed() - last_ms >= LOG_AGAIN_MS;
      holds.set(hold.name, { hold, logged_ms: isDue ? elapsed() : last_ms });
      if (isDue) log.error({ hold: hold.name, todo: hold.todo }, `waiting for an operator's decision: ${hold.why}`);
    },
    clear: (name) => end(name, "a hold ended because its cause is gone; the service continues"),
    list: () => [...holds.values()].map(({ hold }) => show(hold)),
    async gone(name) {
      if (!holds.has(name)) return;
      const waiting = gone.get(name) ?? Promise.withResolvers<void>();
      gone.set(name, waiting);
      await waiting.promise;
    },
    async accept(name) {
      const found = holds.get(name);
      if (found === undefined) throw new LoggiaError("conflict", `There is no hold named ${name} in this process`);
      await found.hold.accept();
      end(name, "an operator has accepted a hold; the service continues");
      return show(found.hold);
    },
  };
}

function show({ name, why, todo, blocks }: Hold): Hold {
  return { name, why, todo, blocks };
}
