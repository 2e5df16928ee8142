import type { Logger } from "pino";

import { LoggiaError } from "../errors.ts";
import type { Role } from "../settings.ts";
import { UNFORESEEN } from "./appends.ts";
import type { AppendWatch } from "./appends.ts";
import { cached } from "./cached.ts";
import { DEPENDENCIES } from "./dependencies.ts";
import type { Dependency } from "./dependencies.ts";
import type { Hold, Holds } from "./holds.ts";

/**
 * A dependency, or a condition of one beyond its being there: that the bus takes appends, that it
 * delivers what it holds, that the store was compared with what was known of it.
 */
export type Need = Dependency | "appends" | "deliveries" | "comparison";

/**
 * What each role cannot work without. Posting knows keys in memory, and the bus absorbs an outage
 * of the store: a probe that asked for more would take every posting process out of service in just
 * that outage.
 */
const NEEDS: Readonly<Record<Role, readonly Need[]>> = {
  post: ["bus", "appends"],
  pipeline: ["bus", "deliveries", "store", "comparison", "catalog"],
  api: ["bus", "store", "comparison", "catalog"],
};

/** What a listener of these roles cannot work without. */
export function needsOf(roles: Iterable<Role>): readonly Need[] {
  return [...new Set(Array.from(roles, (role) => NEEDS[role]).flat())];
}

export type DependencyState =
  | { readonly ok: true; readonly needed: boolean }
  | { readonly ok: false; readonly needed: boolean; readonly why: string };

/**
 * What `/health/ready` tells. `ready`: every dependency that is needed here does what it is needed
 * for, and no hold blocks one.
 */
export type Readiness = {
  readonly status: "ready" | "not ready";
  readonly dependencies: Readonly<Record<Dependency, DependencyState>>;
  /** What waits for a person; absent where nothing does. */
  readonly holds?: readonly Hold[];
};

export type Health = {
  /**
   * Whether all that `needed` names can be used, as seen within the last second. Never rejects, and
   * answers within 3 s.
   */
  ready(needed: readonly Need[]): Promise<Readiness>;
};

export type HealthOptions = {
  readonly ports: Readonly<Record<Dependency, { ping(): Promise<void> }>>;
  readonly appends: Pick<AppendWatch, "fault">;
  readonly holds: Pick<Holds, "list">;
  /**
   * Why the bus delivers nothing to this process at the moment; null where nothing is in the way.
   */
  readonly deliveries: () => string | null;
  /** Why the engines have not been compared yet; null once they were, or where nobody compares. */
  readonly comparison: () => string | null;
  readonly log: Logger;
  /** How long a dependency may take to answer. */
  readonly timeout_ms?: number;
};

const CACHE_MS = 1_000;
const TIMEOUT_MS = 2_500;

/** Asks each dependency at most once a second, however often others ask, and again only after it has answered. */
export function createHealth({
  ports,
  appends,
  holds,
  deliveries,
  comparison,
  log,
  timeout_ms = TIMEOUT_MS,
}: HealthOptions): Health {
  const looks = Object.fromEntries(
    DEPENDENCIES.map((name) => [name, cached(CACHE_MS, () => look(name, ports[name], timeout_ms, log))]),
  ) as Record<Dependency, () => Promise<string | null>>;
  return {
    async ready(needed) {
      const faults = await Promise.all(DEPENDENCIES.map((name) => looks[name]()));
      const states = DEPENDENCIES.map((name, i): [Dependency, DependencyState] => {
        const away: Fault = { need: name, why: faults[i] ?? null };
        // A bus that answers may take nothing, or deliver nothing: that is enough for listeners who
        // need neither.
        const conditions: Partial<Record<Dependency, readonly Fault[]>> = {
          bus: [
            { need: "appends", why: appends.fault() },
            { need: "deliveries", why: deliveries() },
          ],
          store: [{ need: "comparison", why: comparison() }],
        };
        const found = [away, ...(conditions[name] ?? [])].filter(({ why }) => why !== null);
        const { need, why } = found.find((fault) => needed.includes(fault.need)) ?? found[0] ?? away;
        const isNeeded = needed.includes(need);
        return [name, why === null ? { ok: true, needed: isNeeded } : { ok: false, needed: isNeeded, why }];
      });
      const held = holds.list();
      const isHeld = held.some(({ blocks }) => blocks !== null && needed.includes(blocks));
      const isReady = !isHeld && states.every(([, { ok, needed }]) => ok || !needed);
      return {
        status: isReady ? "ready" : "not ready",
        dependencies: Object.fromEntries(states) as Record<Dependency, DependencyState>,
        ...(held.length > 0 && { holds: held }),
      };
    },
  };
}

type Fault = { readonly need: Need; readonly why: string | null };

/** Why a dependency cannot be used, or null. */
async function look(
  name: Dependency,
  port: { ping(): Promise<void> },
  timeout_ms: number,
  log: Logger,
): Promise<string | null> {
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(`did not answer within ${timeout_ms} ms`), timeout_ms);
  try {
    return (await Promise.race([port.ping(), late])) ?? null;
  } catch (error) {
    if (error instanceof LoggiaError) return error.message;
    log.error({ err: error, dependency: name }, "health: a dependency failed for a reason that nobody foresaw");
    return UNFORESEEN;
  } finally {
    clearTimeout(timer);
  }
}
