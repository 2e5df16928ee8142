/**
 * Keeps entries in their previous order, so that nothing moves under the reader. New ones take the
 * places of removed ones, and the rest follow.
 */
export function keepOrder<Entry>(
  before: readonly Entry[],
  after: readonly Entry[],
  keyOf: (entry: Entry) => string,
): readonly Entry[] {
  const known = new Set(before.map(keyOf));
  const byKey = new Map(after.map((entry) => [keyOf(entry), entry]));
  const fresh = after.filter((entry) => !known.has(keyOf(entry)));
  const kept = before.flatMap((entry) => byKey.get(keyOf(entry)) ?? fresh.shift() ?? []);
  return [...kept, ...fresh];
}
