/** Counts by name. Names come from a fixed set and never from a client. */
export type Tally<Name extends string> = {
  add(name: Name, count?: number): void;
  readonly read: () => ReadonlyMap<Name, number>;
};

/** @param names registered with 0 from the start, so that graphs show the first increase */
export function createTally<Name extends string>(names: readonly Name[]): Tally<Name> {
  const counts = new Map(names.map((name) => [name, 0]));
  return {
    add: (name, count = 1) => void counts.set(name, (counts.get(name) ?? 0) + count),
    read: () => counts,
  };
}
