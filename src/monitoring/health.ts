import type { Logger } from "pino";

import { LoggiaError } from "../errors.ts";
import type { ServiceRole } from "../settings/service.ts";
import { UNEXPECTED_ERROR } from "./appends.ts";
import type { AppendWatch } from "./appends.ts";
import { cached } from "./cached.ts";
import { DEPENDENCIES } from "./dependencies.ts";
import type { Dependency } from "./dependencies.ts";
import type { Hold, Holds } from "./holds.ts";

/**
 * A condition of readiness: a dependency is reachable, the bus accepts appends, it delivers
 * records, or the store has been compared with its recorded state.
 */
export type Need = Dependency | "appends" | "deliveries" | "comparison";

/**
 * Needs of each role. Posting checks keys in memory, and the bus absorbs an outage of the store. A
 * probe with more needs would take all posting processes out of service in exactly that outage.
 */
const NEEDS: Readonly<Record<ServiceRole, readonly Need[]>> = {
  post: ["bus", "appends"],
  pipeline: ["bus", "deliveries", "store", "comparison", "catalog"],
  api: ["bus", "store", "comparison", "catalog"],
};

/** Returns the needs of a listener that serves these roles. */
export function needsOfRoles(roles: Iterable<ServiceRole>): readonly Need[] {
  return [...new Set(Array.from(roles, (role) => NEEDS[role]).flat())];
}

export type DependencyState =
  | { readonly ok: true; readonly needed: boolean }
  | { readonly ok: false; readonly needed: boolean; readonly why: string };

/**
 * Response of `/health/ready`. It is `ready` if all needs of the listener are met and no hold
 * blocks any.
 */
export type Readiness = {
  readonly status: "ready" | "not ready";
  /** Why the process itself is not ready, such as while it stops; absent if it is. */
  readonly why?: string;
  readonly dependencies: Readonly<Record<Dependency, DependencyState>>;
  /** Holds that wait for an operator's decision; absent if there are none. */
  readonly holds?: readonly Hold[];
};

export type Health = {
  /**
   * Returns whether all `needed` conditions are met, at most a second old. Never rejects, and
   * resolves within 3 s.
   */
  ready(needed: readonly Need[]): Promise<Readiness>;
};

export type HealthOptions = {
  readonly ports: Readonly<Record<Dependency, { ping(): Promise<void> }>>;
  readonly appends: Pick<AppendWatch, "fault">;
  readonly holds: Pick<Holds, "list">;
  /**
   * Why the bus delivers nothing to this process at the moment; null if there is no such reason.
   */
  readonly deliveries: () => string | null;
  /**
   * Why the engines have not been compared yet; null if they have been, or if this process does not
   * compare them.
   */
  readonly comparison: () => string | null;
  /** Why the process itself is not ready; null if it is. */
  readonly process: () => string | null;
  readonly log: Logger;
  /** How long a dependency may take to respond. */
  readonly timeout_ms?: number;
};

const CACHE_MS = 1_000;
const TIMEOUT_MS = 2_500;

/**
 * Creates the readiness check. It pings each dependency at most once a second, and never twice at
 * the same time.
 */
export function createHealth({
  ports,
  appends,
  holds,
  deliveries,
  comparison,
  process,
  log,
  timeout_ms = TIMEOUT_MS,
}: HealthOptions): Health {
  const checks = Object.fromEntries(
    DEPENDENCIES.map((name) => [name, cached(CACHE_MS, () => check(name, ports[name], timeout_ms, log))]),
  ) as Record<Dependency, () => Promise<string | null>>;
  return {
    async ready(needed) {
      const faults = await Promise.all(DEPENDENCIES.map((name) => checks[name]()));
      const states = DEPENDENCIES.map((name, i): [Dependency, DependencyState] => {
        const unreachable: Fault = { need: name, why: faults[i] ?? null };
        // A reachable bus may refuse appends or deliver nothing. Listeners that do not need the
        // failing condition stay ready.
        const conditions: Partial<Record<Dependency, readonly Fault[]>> = {
          bus: [
            { need: "appends", why: appends.fault() },
            { need: "deliveries", why: deliveries() },
          ],
          store: [{ need: "comparison", why: comparison() }],
        };
        const found = [unreachable, ...(conditions[name] ?? [])].filter(({ why }) => why !== null);
        const { need, why } = found.find((fault) => needed.includes(fault.need)) ?? found[0] ?? unreachable;
        const isNeeded = needed.includes(need);
        return [name, why === null ? { ok: true, needed: isNeeded } : { ok: false, needed: isNeeded, why }];
      });
      const held = holds.list();
      const isHeld = held.some(({ blocks }) => blocks !== null && needed.includes(blocks));
      const why = process();
      const isReady = why === null && !isHeld && states.every(([, { ok, needed }]) => ok || !needed);
      return {
        status: isReady ? "ready" : "not ready",
        ...(why !== null && { why }),
        dependencies: Object.fromEntries(states) as Record<Dependency, DependencyState>,
        ...(held.length > 0 && { holds: held }),
      };
    },
  };
}

type Fault = { readonly need: Need; readonly why: string | null };

/** Returns why a dependency cannot be used, or null. */
async function check(
  name: Dependency,
  port: { ping(): Promise<void> },
  timeout_ms: number,
  log: Logger,
): Promise<string | null> {
  const { promise: timedOut, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(`did not answer within ${timeout_ms} ms`), timeout_ms);
  try {
    return (await Promise.race([port.ping(), timedOut])) ?? null;
  } catch (error) {
    if (error instanceof LoggiaError) return error.message;
    log.error({ err: error, dependency: name }, "health: the check of a dependency failed with an unexpected error");
    return UNEXPECTED_ERROR;
  } finally {
    clearTimeout(timer);
  }
}
