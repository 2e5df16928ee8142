import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Catalog } from "../../src/catalog/catalog.ts";
import type { Account } from "../../src/auth/principals.ts";
import type { UserId } from "../../src/events/event.ts";
import type { SendOutcome } from "./channels/channel.ts";
import type { OpenChannel } from "./channels/open-channel.ts";
import { retryForever, type RetryPolicy } from "../retry.ts";
import { giveBack, nextDay, take, type Allowance } from "./allowance.ts";
import { describeDigest, describeLimit } from "./mail-text.ts";
import { begin, markUncertain, drop, fail, readyAt, succeed, type Digest, type Timing } from "./digest.ts";
import { NO_OUTAGE, prolong, type Outage } from "./outage.ts";
import type { DigestId, NotifierState } from "./state.ts";

export type DispatcherOptions = {
  readonly state: NotifierState;
  readonly catalog: Pick<Catalog, "subscribers" | "accountById">;
  readonly channel: OpenChannel;
  readonly log: Logger;
  readonly timing: Timing;
  /** Maximum number of messages to a user per day (UTC), before one more that says so. */
  readonly dailyLimit: number;
  /** Wait after the first failure of the server or of a message; it doubles up to the last. */
  readonly retryFirst_ms: number;
  readonly retryLast_ms: number;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
};

/** Messages since the start, by outcome. `dropped`: no recipient subscribes to them any more. */
export type SendCounts = Readonly<Record<SendOutcome["kind"] | "dropped", number>>;

/** Maximum number of concurrent messages. */
const CONNECTIONS = 4;
/** Longest timer. Node.js timers are limited to 24.8 days. */
const TIMER_MAX_MS = 3_600_000;

type Taken = ReturnType<typeof take>;
type Hold = { readonly failures: number; readonly until_ms: number };

/**
 * Sends digests by a channel when they are due. Memory holds only when to check which digest; the
 * state is read at that moment, and every step is a guarded write. So any number of processes may
 * check the same digest: one of them sends it.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #dueTimes = new Map<DigestId, number>();
  readonly #busy = new Map<DigestId, Promise<void>>();
  /** Digests on hold: the server deferred them, or the user's daily limit is reached. */
  readonly #holds = new Map<DigestId, Hold>();
  readonly #counts = { sent: 0, refused: 0, deferred: 0, unavailable: 0, unknown: 0, dropped: 0 };
  readonly #closing = new AbortController();
  readonly #ended = new AbortController();
  #outage: Outage = NO_OUTAGE;
  #timer: NodeJS.Timeout | undefined;
  #waking = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Schedules a check of a digest at `due_ms` (since the Unix epoch) or earlier. */
  schedule(id: DigestId, due_ms: number): void {
    const known = this.#dueTimes.get(id);
    if (known !== undefined && known <= due_ms) return;
    this.#dueTimes.set(id, due_ms);
    this.#wake();
  }

  counts(): SendCounts {
    return { ...this.#counts };
  }

  /** Starts no more messages, and waits for those in progress. */
  async close(timeout_ms: number): Promise<void> {
    this.#closing.abort(new Error("the notifier is closing"));
    clearTimeout(this.#timer);
    await Promise.race([Promise.all(this.#busy.values()), sleep(timeout_ms, undefined, { ref: false })]);
    this.#ended.abort(new Error("the notifier is closed"));
  }

  #wake(): void {
    if (this.#waking) return;
    this.#waking = true;
    setImmediate(() => {
      this.#waking = false;
      this.#startDue();
    });
  }

  #startDue(): void {
    clearTimeout(this.#timer);
    while (!this.#closing.signal.aborted && this.#busy.size < (this.#outage.failures > 0 ? 1 : CONNECTIONS)) {
      const next = this.#earliest();
      if (next === null) return;
      const wait_ms = Math.max(next.due_ms, this.#outage.until_ms) - this.#options.now();
      if (wait_ms > 0) {
        this.#timer = setTimeout(() => this.#startDue(), Math.min(wait_ms, TIMER_MAX_MS));
        return;
      }
      this.#dueTimes.delete(next.id);
      this.#busy.set(next.id, this.#run(next.id));
    }
  }

  #earliest(): { id: DigestId; due_ms: number } | null {
    let earliest: { id: DigestId; due_ms: number } | null = null;
    for (const [id, due_ms] of this.#dueTimes) {
      if (!this.#busy.has(id) && (earliest === null || due_ms < earliest.due_ms)) earliest = { id, due_ms };
    }
    return earliest;
  }

  async #run(id: DigestId): Promise<void> {
    let due_ms: number | null;
    try {
      due_ms = await this.#attempt(id);
    } catch (error) {
      due_ms = this.#options.now();
      this.#prolong();
      if (!this.#closing.signal.aborted)
        this.#options.log.warn({ err: error, digest: id }, `a ${this.#options.channel.kind} attempt failed, retrying`);
    }
    this.#busy.delete(id);
    if (due_ms !== null) this.schedule(id, due_ms);
    this.#wake();
  }

  /** Performs the step that is due for a digest. Returns when to check it again. */
  async #attempt(id: DigestId): Promise<number | null> {
    const { state, timing, now } = this.#options;
    const now_ms = now();
    const hold = this.#holds.get(id);
    if (hold !== undefined && hold.until_ms > now_ms) return hold.until_ms;
    const digest = await state.digest(id);
    const ready_ms = digest === null ? null : readyAt(digest, timing);
    if (digest === null || ready_ms === null || ready_ms > now_ms) return ready_ms;
    if (digest.sending !== null) return this.#abandon(id, digest.sending.token);
    const recipient = this.#recipientOf(digest);
    if (recipient === null) {
      this.#counts.dropped += 1;
      return readyAt(await state.changeDigest(id, drop), timing);
    }
    const { verdict, after: allowance } = await this.#take(digest.user, now_ms);
    switch (verdict) {
      case "mail":
        return this.#send(id, recipient, now_ms);
      case "limit":
        return this.#sendLimitNotice(id, recipient, allowance, now_ms);
      case "spent":
        return this.#hold(id, nextDay(now_ms));
      default:
        return verdict satisfies never;
    }
  }

  /** Returns the recipient, or null if they lost access to the class or unsubscribed. */
  #recipientOf({ log, class: classKey, user }: Digest): Account | null {
    const { catalog } = this.#options;
    if (!catalog.subscribers(log, classKey, "notify").includes(user)) return null;
    return catalog.accountById(user);
  }

  async #take(user: UserId, now_ms: number): Promise<Taken> {
    const { state, dailyLimit } = this.#options;
    const tries: Taken[] = [];
    await state.changeAllowance(user, (before) => {
      const taken = take(before, now_ms, dailyLimit);
      tries.push(taken);
      return taken.after;
    });
    return tries.at(-1)!;
  }

  /** Handles a message that was begun and whose outcome was not recorded in time. */
  async #abandon(id: DigestId, token: string): Promise<number | null> {
    const { state, timing, log, channel } = this.#options;
    const after = await state.changeDigest(id, (digest) =>
      digest.sending?.token === token ? markUncertain(digest, this.#options.now()) : digest,
    );
    log.warn({ digest: id }, `a process ended while sending a ${channel.noun.one}; it counts as sent`);
    return readyAt(after, timing);
  }

  /** Sends a digest within the daily limit: records the attempt, sends, records the outcome. */
  async #send(id: DigestId, recipient: Account, now_ms: number): Promise<number | null> {
    const { state, timing, channel } = this.#options;
    const token = randomBytes(8).toString("hex");
    const begun = await state.changeDigest(id, (digest) => {
      const ready_ms = digest.sending === null ? readyAt(digest, timing) : null;
      if (ready_ms === null || ready_ms > now_ms) return digest;
      return begin(digest, { token, now_ms, until_ms: this.#options.now() + 2 * channel.deadline_ms });
    });
    if (begun.sending?.token !== token) {
      // Another process began first.
      await state.changeAllowance(begun.user, (allowance) => giveBack(allowance, "mail", now_ms));
      return readyAt(begun, timing);
    }
    const words = describeDigest(begun, begun.sending.gathered, channel.noun);
    const outcome = await channel.send({ ...words, name: `${id}/${begun.serial}`, date_ms: now_ms }, recipient);
    const after = await this.#persist(() =>
      state.changeDigest(id, (digest) => (digest.sending?.token === token ? this.#settle(digest, outcome) : digest)),
    );
    if (isUnsent(outcome)) {
      await this.#persist(() => state.changeAllowance(begun.user, (allowance) => giveBack(allowance, "mail", now_ms)));
    }
    return this.#report(id, outcome, readyAt(after, timing));
  }

  /** Sends the notice that the daily limit is reached. */
  async #sendLimitNotice(
    id: DigestId,
    recipient: Account,
    allowance: Allowance,
    now_ms: number,
  ): Promise<number | null> {
    const { state, channel, dailyLimit } = this.#options;
    const { user, day } = allowance;
    const words = describeLimit(allowance, dailyLimit, channel.noun);
    const outcome = await channel.send({ ...words, name: `end/${user}/${day}`, date_ms: now_ms }, recipient);
    if (!isUnsent(outcome)) {
      this.#report(id, outcome, null);
      return this.#hold(id, nextDay(now_ms));
    }
    await this.#persist(() => state.changeAllowance(user, (before) => giveBack(before, "limit", now_ms)));
    return this.#report(id, outcome, this.#options.now());
  }

  #settle(digest: Digest, outcome: SendOutcome): Digest {
    switch (outcome.kind) {
      case "sent":
      case "refused":
        return succeed(digest, this.#options.now());
      case "deferred":
      case "unavailable":
        return fail(digest, this.#options.timing.lines);
      case "unknown":
        return markUncertain(digest, this.#options.now());
      default:
        return outcome satisfies never;
    }
  }

  /** Counts an outcome. Returns when to check the digest again if it is due at `ready_ms`. */
  #report(id: DigestId, outcome: SendOutcome, ready_ms: number | null): number | null {
    const { log, channel } = this.#options;
    const { one } = channel.noun;
    const server = `${channel.kind} server`;
    this.#counts[outcome.kind] += 1;
    if (outcome.kind === "unavailable" || outcome.kind === "unknown") {
      this.#prolong();
      const what =
        outcome.kind === "unknown" ? `no reply to a ${one} that was handed over; it counts as sent` : "unavailable";
      log.warn({ reason: outcome.reason, digest: id, failures: this.#outage.failures }, `${server}: ${what}`);
      return ready_ms;
    }
    if (this.#outage.failures > 0) log.info(`${server}: available again`);
    this.#outage = NO_OUTAGE;
    if (outcome.kind === "deferred") {
      const { failures, until_ms } = prolong(this.#holds.get(id) ?? NO_OUTAGE, this.#options.now(), this.#waits());
      log.warn({ reason: outcome.reason, digest: id, failures }, `${server}: deferred a ${one}`);
      return this.#hold(id, until_ms, failures);
    }
    this.#holds.delete(id);
    if (outcome.kind === "refused") log.error({ reason: outcome.reason, digest: id }, `${server}: refused a ${one}`);
    return ready_ms;
  }

  #prolong(): void {
    this.#outage = prolong(this.#outage, this.#options.now(), this.#waits());
  }

  #waits(): { first_ms: number; last_ms: number } {
    return { first_ms: this.#options.retryFirst_ms, last_ms: this.#options.retryLast_ms };
  }

  #hold(id: DigestId, until_ms: number, failures = 0): number {
    this.#holds.set(id, { failures, until_ms });
    return until_ms;
  }

  /** Runs a write that must not be lost, and retries it while the state store is unavailable. */
  #persist<T>(write: () => Promise<T>): Promise<T> {
    const { log, channel, retryFirst_ms, retryLast_ms } = this.#options;
    const retryPolicy: RetryPolicy = {
      signal: this.#ended.signal,
      closing: this.#closing.signal,
      first_ms: retryFirst_ms,
      last_ms: retryLast_ms,
      log,
      retried: () => {},
    };
    return retryForever(`record the outcome of a ${channel.noun.one}`, write, retryPolicy);
  }
}

/** Whether a message certainly did not go out and may be retried. */
function isUnsent(outcome: SendOutcome): boolean {
  return outcome.kind === "deferred" || outcome.kind === "unavailable";
}
