import { fold } from "./text.ts";

/** Levels of an event from the least to the most severe; "" is none. */
export const LEVELS = ["", "trace", "debug", "info", "warn", "error", "fatal"] as const;
export type Level = (typeof LEVELS)[number];

/** The tags that name a level, folded, by the rank of that level in {@link LEVELS}. */
const TAGS: readonly (readonly string[])[] = [
  [],
  ["trace"],
  ["debug"],
  ["info", "notice"],
  ["warn", "warning"],
  ["error", "err"],
  ["fatal", "emergency", "alert", "critical", "crit", "panic"],
];

/** All words that name a level. */
export const LEVEL_WORDS: readonly string[] = TAGS.flat();

const RANKS = new Map(TAGS.flatMap((tags, rank) => tags.map((tag) => [tag, rank] as const)));

/** Returns the rank of the level that a word names, in any case; null if it names none. */
export function rankOfWord(word: string): number | null {
  return RANKS.get(fold(word)) ?? null;
}

/** Returns the rank of an event's level, the most severe that its tags name. */
export function rankOfTags(tags: readonly string[]): number {
  let rank = 0;
  for (const tag of tags) rank = Math.max(rank, rankOfWord(tag) ?? 0);
  return rank;
}

/** Returns an event's level, the most severe that its tags name. */
export function levelOfTags(tags: readonly string[]): Level {
  return LEVELS[rankOfTags(tags)]!;
}

/** Returns the folded tags that name a level of at least a rank. */
export function tagsFromRank(rank: number): readonly string[] {
  return TAGS.slice(rank).flat();
}
