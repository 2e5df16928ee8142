export const NO_TAGS: readonly string[] = Object.freeze([]);

const OTHER_SPACE = /[^\S ]/u;

/** Splits a text into tags, which blanks separate. */
export function splitTags(text: string): readonly string[] {
  if (text === "") return NO_TAGS;
  // Tags are nearly always separated by blanks, which needs no regular expression.
  const parts = text.split(OTHER_SPACE.test(text) ? /\s+/u : " ");
  return distinctTags(parts.includes("") ? parts.filter((tag) => tag !== "") : parts);
}

/**
 * Removes repeated tags, keeping the order. For the usual few tags, scanning is cheaper than a Set.
 */
export function distinctTags(tags: readonly string[]): readonly string[] {
  return areDistinct(tags) ? tags : [...new Set(tags)];
}

const FEW = 8;

function areDistinct(tags: readonly string[]): boolean {
  if (tags.length > FEW) return new Set(tags).size === tags.length;
  for (let i = 1; i < tags.length; i++) if (tags.indexOf(tags[i]!) < i) return false;
  return true;
}
