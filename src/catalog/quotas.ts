import { LoggiaError } from "../errors.ts";
import type { LogKey, UserId } from "../events/event.ts";
import type { AccountLimits } from "./catalog.ts";
import { idOf } from "./model.ts";
import type { Addition, Entity, QuotaEntity, Reservation } from "./model.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

export const DEFAULT_ACCOUNT_LIMITS: AccountLimits = Object.freeze({
  logs: 20,
  apiKeys: 400,
  classFilters: 20_000,
  shares: 2_000,
});

/** The settings that set them. */
export const ACCOUNT_LIMIT_SETTINGS = {
  logs: "LOGGIA_LOGS_PER_ACCOUNT",
  apiKeys: "LOGGIA_API_KEYS_PER_ACCOUNT",
  classFilters: "LOGGIA_CLASS_FILTERS_PER_ACCOUNT",
  shares: "LOGGIA_SHARES_PER_ACCOUNT",
} as const satisfies Record<keyof AccountLimits, string>;

/** Log creations by one account: at most so many within so long. */
const LOGS_A_MINUTE = 10;
const MINUTE_MS = 60_000;

/** Longer than any write is under way. A reservation that old belongs to a write that failed. */
const RESERVED_MS = 120_000;

const NAMES: Record<keyof AccountLimits, string> = {
  logs: "logs",
  apiKeys: "API keys",
  classFilters: "class filters",
  shares: "shares",
};

export const additionOf = {
  log: (key: LogKey): Addition => ({ kind: "logs", id: key }),
  apiKey: (log: LogKey, id: string): Addition => ({ kind: "apiKeys", id: `${log}/${id}` }),
  classFilter: (log: LogKey, key: string): Addition => ({ kind: "classFilters", id: `${log}/${key}` }),
  share: (log: LogKey, user: UserId): Addition => ({ kind: "shares", id: `${log}/${user}` }),
};

/**
 * Holds accounts to their limits, in all processes together. An addition is reserved in the owner's
 * quota record before it is made. The record changes by guarded writes, so of two processes that
 * race for the last place one sees the other's reservation. The logs of service admins, who could
 * raise the limits as well, are not limited.
 */
export type Quotas = {
  /**
   * Makes additions that fit, and gives their places back where `make` fails.
   * @throws LoggiaError `forbidden` that names the setting
   */
  add<T>(owner: UserId, additions: readonly Addition[], make: () => Promise<T>): Promise<T>;
  /**
   * Counts an attempt to create a log. @throws LoggiaError `too_many_requests` where there were ten
   * within a minute
   */
  countLogAttempt(owner: UserId): Promise<void>;
};

export function createQuotas(parts: {
  snapshot: Snapshot;
  writer: Writer;
  limits: AccountLimits;
  /** The time that is believed, in milliseconds since the Unix epoch. */
  now: () => number;
}): Quotas {
  const { snapshot, writer, limits, now } = parts;

  const isLimited = (owner: UserId): boolean => snapshot.accountById(owner)?.admin !== true;

  const known = (owner: UserId): QuotaEntity => quotaOf(snapshot.known(idOf.quota(owner))?.entity ?? null, owner);

  /**
   * A reservation is dropped once the addition is seen, so the record alone does not tell what
   * another process added. But a process adds something before it writes the record again, and
   * changes are taken in as they were written: who has the newest record has those additions too.
   */
  const write = async (owner: UserId, change: (current: QuotaEntity) => QuotaEntity): Promise<void> => {
    const next = (current: Entity | null) => change(withoutFuture(quotaOf(current, owner), now()));
    await writer.write(idOf.quota(owner), next, { readsOthers: true });
  };

  /** Stores what times of the future are taken for, so that it lapses even where all is refused. */
  const settle = async (owner: UserId): Promise<void> => {
    const quota = known(owner);
    if (withoutFuture(quota, now()) !== quota) await write(owner, (current) => current);
  };

  const pending = (reserved: readonly Reservation[], now_ms: number): Reservation[] =>
    reserved.filter((one) => one.until > now_ms && !snapshot.has(one));

  const reserve = (owner: UserId, additions: readonly Addition[]): Promise<void> =>
    write(owner, (current) => {
      const now_ms = now();
      const reserved = pending(current.reserved, now_ms);
      const counts = snapshot.countOwned(owner);
      for (const { kind } of additions) {
        const others = reserved.filter((one) => one.kind === kind).length;
        // What is there already is changed, or refused for that.
        const more = additions.filter((one) => one.kind === kind && !snapshot.has(one)).length;
        if (more > 0 && counts[kind] + others + more > limits[kind]) throw overLimit(kind, limits[kind]);
      }
      const until = now_ms + RESERVED_MS;
      return { ...current, reserved: [...reserved, ...additions.map((addition) => ({ ...addition, until }))] };
    });

  const release = (owner: UserId, additions: readonly Addition[]): Promise<void> => {
    const isOurs = (one: Reservation): boolean => additions.some(({ kind, id }) => kind === one.kind && id === one.id);
    return write(owner, (current) => ({ ...current, reserved: current.reserved.filter((one) => !isOurs(one)) }));
  };

  return {
    async add(owner, additions, make) {
      if (!isLimited(owner)) return make();
      await settle(owner);
      await reserve(owner, additions);
      try {
        return await make();
      } catch (error) {
        // Whether a write that got no answer was done is not known: its place stays taken until it
        // can no longer be.
        if (error instanceof LoggiaError && error.status < 500) await release(owner, additions).catch(() => {});
        throw error;
      }
    },
    async countLogAttempt(owner) {
      if (!isLimited(owner)) return;
      if (limits.logs === 0) throw overLimit("logs", 0);
      await settle(owner);
      recentAttempts(known(owner), now());
      await write(owner, (current) => {
        const now_ms = now();
        return { ...current, attempts: [...recentAttempts(current, now_ms), now_ms] };
      });
    },
  };
}

/**
 * The attempts of the last minute. @throws LoggiaError `too_many_requests` where no more fits in
 */
function recentAttempts({ attempts }: QuotaEntity, now_ms: number): readonly number[] {
  const recent = attempts.filter((attempt) => attempt > now_ms - MINUTE_MS);
  if (recent.length < LOGS_A_MINUTE) return recent;
  const retryAfter_s = Math.max(1, Math.ceil((recent.at(-LOGS_A_MINUTE)! + MINUTE_MS - now_ms) / 1000));
  throw new LoggiaError(
    "too_many_requests",
    `An account may create at most ${LOGS_A_MINUTE} logs a minute, attempts at keys that are taken included; ` +
      `try again in ${retryAfter_s} s`,
    { retryAfter_s },
  );
}

/**
 * Times of the future are from before a clock was set back, or of a machine whose clock is ahead.
 * They count as of now: neither are they forgotten, nor do they hold the account up for longer.
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
    return new LoggiaError("forbidden", `${may}; the operator's setting ${setting} says so`);
  }
  return new LoggiaError(
    "forbidden",
    `All logs of one owner together may have at most ${limit} ${NAMES[kind]}; ` +
      `the operator's setting ${setting} says so`,
  );
}
