import { globSync } from "node:fs";

import { createNeeds } from "./needs.ts";
import type { Need } from "./needs.ts";

/** Files that run for long. `make test` leaves them to `make test-long`. */
const LONG = ".long.test.ts";

export type Suite = "standard" | "fast" | "long";

export type Selection = {
  /** Paths below the project's folder, sorted. */
  readonly files: readonly string[];
  /** What the files need. */
  readonly needs: ReadonlySet<Need>;
  /** Lines that say what is left out, and why. */
  readonly leftOut: readonly string[];
};

/**
 * Chooses the test files of a run.
 * @param names files or folders below `test/`; none means all of the suite. A long file runs only
 *   in its suite or if it is named itself
 * @throws Error that names what does not exist
 */
export function selectFiles(root: string, suite: Suite, names: readonly string[]): Selection {
  const all = globSync("test/**/*.test.ts", { cwd: root }).sort();
  const needsOf = createNeeds(root);
  const named = names.length === 0 ? all : [...new Set(names.flatMap((name) => filesOf(all, name)))].sort();
  const isLong = (file: string): boolean => file.endsWith(LONG);
  const isOfSuite: Readonly<Record<Suite, (file: string) => boolean>> = {
    standard: (file) => !isLong(file) || names.some((name) => isFile(file, name)),
    fast: (file) => !isLong(file) && needsOf(file).size === 0,
    long: isLong,
  };
  const files = named.filter(isOfSuite[suite]);
  const needs = new Set(files.flatMap((file) => [...needsOf(file)]));
  const others = named.filter((file) => !isOfSuite[suite](file));
  const long = others.filter(isLong);
  const standard = others.filter((file) => !isLong(file));
  const leftOut: string[] = [];
  if (suite === "fast" && standard.length > 0) leftOut.push(explainNeeds(standard, needsOf));
  if (suite !== "long" && long.length > 0) leftOut.push(`Left to \`make test-long\`: ${long.length} files (*${LONG}).`);
  return { files, needs, leftOut };
}

function filesOf(all: readonly string[], name: string): readonly string[] {
  const path = pathOf(name);
  const files = all.filter((file) => isFile(file, name) || file.startsWith(`${path}/`));
  if (files.length > 0) return files;
  const last = path.split("/").at(-1) ?? "";
  const similar = all.filter((file) => last !== "" && file.includes(last)).slice(0, 5);
  const hint = similar.length > 0 ? ` Did you mean ${similar.join(", ")}?` : "";
  throw new Error(`No test file or folder is named ${path}.${hint}`);
}

function isFile(file: string, name: string): boolean {
  const path = pathOf(name);
  return file === path || file === `${path}.test.ts` || file === `${path}${LONG}`;
}

/** `query/parser`, `test/query/parser` and `./test/query/` name what is below `test/`. */
function pathOf(name: string): string {
  return `test/${name.replace(/^(?:\.\/)?(?:test\/)?/, "").replace(/\/$/, "")}`;
}

function explainNeeds(others: readonly string[], needsOf: (file: string) => ReadonlySet<Need>): string {
  const counts = Map.groupBy(
    others.flatMap((file) => [...needsOf(file)]),
    (need) => need,
  );
  const parts = [...counts].map(([need, files]) => `${need} (${files.length})`);
  return `Left to \`make test\`: ${others.length} files that need ${parts.join(", ")}.`;
}
