export const NO_TAGS: readonly string[] = Object.freeze([]);

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
