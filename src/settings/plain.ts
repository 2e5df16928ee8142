import { invalidSetting } from "./values.ts";

/** What is there for speed alone. Each trick has a plain twin that gives the same results. */
export const TRICKS = [
  "fast-path",
  "line-scanner",
  "blocks",
  "sums",
  "list-cache",
  "list-pages",
  "column-statistics",
  "attribute-columns",
  "vectors",
] as const;
export type Trick = (typeof TRICKS)[number];

/** Reads the tricks that are left out. */
export function readPlain(setting: string, value: string): ReadonlySet<Trick> {
  const names = value.split(",").map((name) => name.trim());
  return new Set(
    names.filter(Boolean).map((name) => {
      const trick = TRICKS.find((one) => one === name);
      if (trick === undefined) throw invalidSetting(setting, value, `some of ${TRICKS.join(", ")}, with commas`);
      return trick;
    }),
  );
}
