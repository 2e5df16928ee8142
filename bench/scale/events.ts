import { createHash } from "node:crypto";

import { DAY_MS, DAYS, END_MS, RARE_TAG } from "../support/events.ts";

const TAGS = ["http", "cart", "login", "cache", "db", "mail", "search", "batch", "error", "slow", "deploy", RARE_TAG];
export const USERS = 5_000;

/** An event of the data set: 98 characters of text, two tags, and all fields that are queried. */
export type ScaleEvent = {
  readonly created: number;
  readonly text: string;
  readonly tags: readonly string[];
  readonly source: string;
  readonly user: string;
  readonly value: number;
};

/** Returns the id of a request, which occurs in one text. */
export function requestIdOf(i: number): string {
  return createHash("sha256").update(String(i)).digest("hex").slice(0, 12);
}

export function eventOf(i: number, count: number, random: (below: number) => number): ScaleEvent {
  const what =
    random(100) === 0
      ? `timeout after ${random(3_000)} ms of payment-${random(9)} id=${random(500_000)} for customer ${random(90_000)}`
      : `GET /api/orders/${random(90_000)} answered 200 for customer ${random(5_000)} in ${random(3_000)} ms,`;
  const text = `${what} request=${requestIdOf(i)}`;
  return {
    created: END_MS - DAYS * DAY_MS + Math.floor((i / count) * DAYS * DAY_MS),
    text: text.padEnd(98, " ok"),
    tags: [TAGS[Math.min(random(TAGS.length), random(TAGS.length))]!, `host-${random(8)}`],
    source: `web-${String(random(50) + 1).padStart(2, "0")}`,
    user: `user-${random(USERS)}`,
    value: random(100_000) / 100,
  };
}
