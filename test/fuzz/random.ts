/** Random choices that a seed reproduces. */
export type Random = {
  /** An integer of at least 0 and less than `limit`. */
  below(limit: number): number;
  oneOf<T>(choices: readonly T[]): T;
  /** True with this chance in per cent. */
  percent(chance: number): boolean;
  bytes(length: number): Buffer;
};

/** Mulberry32: small, fast, and random enough for choices. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number): number => Math.floor((next() / 2 ** 32) * limit);
  return {
    below,
    oneOf: (choices) => choices[below(choices.length)]!,
    percent: (chance) => below(100) < chance,
    bytes: (length) => Buffer.from(Array.from({ length }, () => below(256))),
  };
}

/** Strings that often break parsers. */
const AWKWARD: readonly string[] = [
  "\0",
  "\r\n",
  "\r",
  "\n",
  "\r\n\r\n",
  "%",
  "%00",
  "%zz",
  "%ff",
  "&",
  "=",
  "+",
  ";",
  "'",
  '"',
  "\\",
  "<",
  ">",
  "]]>",
  "&amp;",
  "--",
  "/*",
  "(",
  ")",
  "[",
  "]",
  "{",
  "}",
  "*",
  "?",
  "|",
  "$",
  "^",
  "\\Q",
  "(?i)",
  "\\p{L}",
  "{1000}",
  ".",
  "..",
  "/",
  "//",
  ":",
  ",",
  "-1",
  "0",
  "1e999",
  "NaN",
  "null",
  "true",
  "99999999999999999999",
  "0x10",
  "__proto__",
  "constructor",
  "\u00e9",
  "\u{1f600}",
  "\ud800",
  "\u2028",
  "\ufeff",
  "\u202e",
  "\u0130",
  "x".repeat(1_000),
  "x".repeat(70_000),
];

/**
 * Mutates some bytes: replaces, removes, repeats or inserts them, or inserts a string that often
 * breaks parsers.
 */
export function mutate(random: Random, original: Buffer, changes = 1 + random.below(6)): Buffer {
  let bytes = original;
  for (let i = 0; i < changes; i++) {
    const at = random.below(bytes.length + 1);
    const to = Math.min(bytes.length, at + random.below(random.oneOf([2, 10, 200])));
    const [before, middle, after] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)];
    const awkward = (): Buffer => Buffer.from(random.oneOf(AWKWARD), random.percent(90) ? "utf8" : "latin1");
    bytes = Buffer.concat(
      random.oneOf([
        () => [before, random.bytes(1), bytes.subarray(at + 1)],
        () => [before, awkward(), bytes.subarray(at)],
        () => [before, awkward(), after],
        () => [before, after],
        () => [before, middle, middle, after],
        () => [before, random.bytes(random.below(20)), after],
        () => [after, before],
      ])(),
    );
  }
  return bytes.subarray(0, 300_000);
}

export function mutateText(random: Random, original: string, changes?: number): string {
  return mutate(random, Buffer.from(original), changes).toString("utf8");
}
