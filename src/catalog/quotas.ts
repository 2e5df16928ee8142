import { errorStatus, LoggiaError } from "../errors.ts";
import type { LogKey, UserId } from "../events/event.ts";
import type { AccountLimits } from "./catalog.ts";
import { documentId } from "./model.ts";
import type { Addition, Entity, QuotaEntity, QuotaReservation } from "./model.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

export const DEFAULT_ACCOUNT_LIMITS: AccountLimits = Object.freeze({
  logs: 20,
  apiKeys: 400,
  classFilters: 20_000,
  shares: 2_000,
});

/** Settings that set these limits. */
export const ACCOUNT_LIMIT_SETTINGS = {
  logs: "LOGGIA_LOGS_PER_ACCOUNT",
  apiKeys: "LOGGIA_API_KEYS_PER_ACCOUNT",
  classFilters: "LOGGIA_CLASS_FILTERS_PER_ACCOUNT",
  shares: "LOGGIA_SHARES_PER_ACCOUNT",
} as const satisfies Record<keyof AccountLimits, string>;

/** Most log creations per account and minute. */
const LOGS_A_MINUTE = 10;
const MINUTE_MS = 60_000;

/** Longer than any write takes. An older reservation belongs to a failed write. */
const RESERVED_MS = 120_000;

const NAMES: Record<keyof AccountLimits, string> = {
  logs: "logs",
  apiKeys: "API keys",
  classFilters: "class filters",
  shares: "shares",
};

export const quotaAddition = {
  log: (key: LogKey): Addition => ({ kind: "logs", id: key }),
  apiKey: (log: LogKey, id: string): Addition => ({ kind: "apiKeys", id: `${log}/${id}` }),
  classFilter: (log: LogKey, key: string): Addition => ({ kind: "classFilters", id: `${log}/${key}` }),
  share: (log: LogKey, user: UserId): Addition => ({ kind: "shares", id: `${log}/${user}` }),
};

/**
 * Enforces the limits of accounts across all processes. An addition is first reserved in the
 * owner's quota record. That record changes by guarded writes, so if two processes race for the
 * last place, one sees the other's reservation. Logs of service admins, who could raise the limits,
 * are not limited.
 */
export type Quotas = {
  /**
   * Makes additions if they fit, and releases their reservations if `make` fails.
   * @throws LoggiaError `forbidden`, which names the setting
   */
  add<T>(owner: UserId, additions: readonly Addition[], make: () => Promise<T>): Promise<T>;
  /**
   * Counts an attempt to create a log. @throws LoggiaError `too_many_requests` after ten within a
   * minute
   */
  countLogAttempt(owner: UserId): Promise<void>;
};

export function createQuotas(parts: {
  snapshot: Snapshot;
  writer: Writer;
  limits: AccountLimits;
  /** Trusted clock, in milliseconds since the Unix epoch. */
  now: () => number;
}): Quotas {
  const { snapshot, writer, limits, now } = parts;

  const isLimited = (owner: UserId): boolean => snapshot.accountById(owner)?.admin !== true;

  const readQuota = (owner: UserId): QuotaEntity =>
    quotaOf(snapshot.entry(documentId.quota(owner))?.entity ?? null, owner);

  /**
   * A reservation is dropped once the addition is visible, so the record alone does not show what
   * another process added. But a process makes its addition before it writes the record again, and
   * changes are applied in the order of writing: a process with the newest record has those
   * additions.
   */
  const write = async (owner: UserId, change: (current: QuotaEntity) => QuotaEntity): Promise<void> => {
    const next = (current: Entity | null) => change(withoutFuture(quotaOf(current, owner), now()));
    await writer.write(documentId.quota(owner), next, { readsOthers: true });
  };

  /** Stores capped times, so that they expire even if every request is refused. */
  const storeCapped = async (owner: UserId): Promise<void> => {
    const quota = readQuota(owner);
    if (withoutFuture(quota, now()) !== quota) await write(owner, (current) => current);
  };

  const pending = (reserved: readonly QuotaReservation[], now_ms: number): QuotaReservation[] =>
    reserved.filter((one) => one.until > now_ms && !snapshot.has(one));

  const reserve = (owner: UserId, additions: readonly Addition[]): Promise<void> =>
    write(owner, (current) => {
      const now_ms = now();
      const reserved = pending(current.reserved, now_ms);
      const counts = snapshot.countOwned(owner);
      for (const { kind } of additions) {
        const others = reserved.filter((one) => one.kind === kind).length;
        // An existing item is not an addition: the write changes it or refuses it.
        const more = additions.filter((one) => one.kind === kind && !snapshot.has(one)).length;
        if (more > 0 && counts[kind] + others + more > limits[kind]) throw overLimit(kind, limits[kind]);
      }
      const until = now_ms + RESERVED_MS;
      return { ...current, reserved: [...reserved, ...additions.map((addition) => ({ ...addition, until }))] };
    });

  const release = (owner: UserId, additions: readonly Addition[]): Promise<void> => {
    const isOurs = (one: QuotaReservation): boolean =>
      additions.some(({ kind, id }) => kind === one.kind && id === one.id);
    return write(owner, (current) => ({ ...current, reserved: current.reserved.filter((one) => !isOurs(one)) }));
  };

  return {
    async add(owner, additions, make) {
      if (!isLimited(owner)) return make();
      await storeCapped(owner);
      await reserve(owner, additions);
      try {
        return await make();
      } catch (error) {
        // After a 5xx error it is unknown whether the write was made, so the reservation stays
        // until it expires.
        if (error instanceof LoggiaError && errorStatus(error) < 500) await release(owner, additions).catch(() => {});
        throw error;
      }
    },
    async countLogAttempt(owner) {
      if (!isLimited(owner)) return;
      if (limits.logs === 0) throw overLimit("logs", 0);
      await storeCapped(owner);
      recentAttempts(readQuota(owner), now());
      await write(owner, (current) => {
        const now_ms = now();
        return { ...current, attempts: [...recentAttempts(current, now_ms), now_ms] };
      });
    },
  };
}

/** Returns the attempts of the last minute. @throws LoggiaError `too_many_requests` at the limit */
function recentAttempts({ attempts }: QuotaEntity, now_ms: number): readonly number[] {
  const recent = attempts.filter((attempt) => attempt > now_ms - MINUTE_MS);
  if (recent.length < LOGS_A_MINUTE) return recent;
  const retryAfter_s = Math.max(1, Math.ceil((recent.at(-LOGS_A_MINUTE)! + MINUTE_MS - now_ms) / 1000));
  throw new LoggiaError(
    "too_many_requests",
    `An account may create at most ${LOGS_A_MINUTE} logs a minute, including attempts at keys that are taken; ` +
      `try again in ${retryAfter_s} s`,
    { retryAfter_s },
  );
}

/**
 * Caps times in the future, left by a clock that was set back or by a machine whose clock is ahead.
 * They count as now: they are not ignored, and do not block the account for longer.
 */
function withoutFuture(quota: QuotaEntity, now_ms: number): QuotaEntity {
  const { attempts, reserved } = quota;
  const latest_ms = now_ms + RESERVED_MS;
  if (attempts.every((attempt) => attempt <= now_ms) && reserved.every(({ until }) => until <= latest_ms)) return quota;
  return {
    ...quota,
    attempts: attempts.map((attempt) => Math.min(attempt, now_ms)),
    reserved: reserved.map((one) => ({ ...one, until: Math.min(one.until, latest_ms) })),
  };
}

function quotaOf(entity: Entity | null, owner: UserId): QuotaEntity {
  return entity?.kind === "quota" ? entity : { kind: "quota", owner, reserved: [], attempts: [] };
}

function overLimit(kind: keyof AccountLimits, limit: number): LoggiaError {
  const setting = ACCOUNT_LIMIT_SETTINGS[kind];
  if (kind === "logs") {
    const may = limit === 0 ? "Only service admins may create logs here" : `An account may own at most ${limit} logs`;
    return new LoggiaError("forbidden", `${may}; this is the operator's setting ${setting}`);
  }
  return new LoggiaError(
    "forbidden",
    `All logs of one owner together may have at most ${limit} ${NAMES[kind]}; ` +
      `this is the operator's setting ${setting}`,
  );
}
