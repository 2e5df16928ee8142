/**
 * Entries in the order in which they stood before, so that nothing moves under a reader: new ones take
 * the places of those that are gone, and the rest of them come last.
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
