/** Counts by name. Names come from a fixed set: nothing that a client sends may become one. */
export type Tally<Name extends string> = {
  add(name: Name, count?: number): void;
  readonly read: () => ReadonlyMap<Name, number>;
};

/** @param names are there from the start, so that a graph sees the first one rise from nothing */
export function createTally<Name extends string>(names: readonly Name[]): Tally<Name> {
  const counts = new Map(names.map((name) => [name, 0]));
  return {
    add: (name, count = 1) => void counts.set(name, (counts.get(name) ?? 0) + count),
    read: () => counts,
  };
}
