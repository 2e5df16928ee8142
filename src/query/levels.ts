import { LEVELS, LEVEL_WORDS, rankOfWord, tagsFromRank } from "../events/level.ts";
import { EVERYTHING } from "./plan.ts";
import type { ComparisonOp, Condition } from "./plan.ts";

/** The words that a level is compared with, for messages. */
export const LEVEL_CHOICES = `'', ${LEVEL_WORDS.map((word) => `'${word}'`).join(", ")}`;

/** Returns the rank of a level as written, "" included; null if it is no level. */
export function rankOfLevel(written: string): number | null {
  return written === "" ? 0 : rankOfWord(written);
}

/**
 * Compares the level of events with a rank. Levels are derived from tags, so the condition is one on
 * tags: whatever a store holds, no other index is needed.
 */
export function compareLevel(op: ComparisonOp, rank: number): Condition {
  switch (op) {
    case "=":
      return { kind: "and", conditions: [isAtLeast(rank), isBelow(rank + 1)] };
    case "<":
      return isBelow(rank);
    case "<=":
      return isBelow(rank + 1);
    case ">":
      return isAtLeast(rank + 1);
    case ">=":
      return isAtLeast(rank);
  }
  throw op satisfies never;
}

function isAtLeast(rank: number): Condition {
  if (rank === 0) return EVERYTHING;
  if (rank >= LEVELS.length) return { kind: "or", conditions: [] };
  return { kind: "in", field: "tags", values: tagsFromRank(rank) };
}

function isBelow(rank: number): Condition {
  return rank >= LEVELS.length ? EVERYTHING : { kind: "not", condition: isAtLeast(rank) };
}
