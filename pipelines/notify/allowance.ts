import type { UserId } from "../../src/events/event.ts";

/** Number of mails to a user on a day (UTC), as a small durable document. */
export type Allowance = {
  readonly v: 1;
  readonly user: UserId;
  /** `2026-11-21` */
  readonly day: string;
  readonly count: number;
  /** Whether the user was notified that no more mails follow on this day. */
  readonly told: boolean;
};

/** `mail`: send a mail. `limit`: send the notice of the limit. `spent`: send nothing. */
type Verdict = "mail" | "limit" | "spent";

const DAY_MS = 86_400_000;

export function newAllowance(user: UserId): Allowance {
  return { v: 1, user, day: "", count: 0, told: false };
}

/** Takes one mail of today's allowance, before it is sent. */
export function take(allowance: Allowance, now_ms: number, limit: number): { verdict: Verdict; after: Allowance } {
  const day = dayOf(now_ms);
  const today = allowance.day === day ? allowance : { ...allowance, day, count: 0, told: false };
  if (today.count < limit) return { verdict: "mail", after: { ...today, count: today.count + 1 } };
  return today.told ? { verdict: "spent", after: today } : { verdict: "limit", after: { ...today, told: true } };
}

/** Undoes {@link take} for a mail that was not sent, unless a new day has begun. */
export function giveBack(allowance: Allowance, verdict: Verdict, taken_ms: number): Allowance {
  if (allowance.day !== dayOf(taken_ms)) return allowance;
  if (verdict === "limit") return { ...allowance, told: false };
  return { ...allowance, count: Math.max(0, allowance.count - 1) };
}

/** Returns when the next day begins. */
export function nextDay(now_ms: number): number {
  return (Math.floor(now_ms / DAY_MS) + 1) * DAY_MS;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
