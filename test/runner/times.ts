import { existsSync, readFileSync } from "node:fs";

/** How long a test file ran, from its first module to its last hook. */
export type FileTime = { readonly file: string; readonly took_ms: number };

/** Variable with the file to which each worker appends the {@link FileTime} of its test file. */
export const TIMES_VARIABLE = "TEST_TIMES";

const MOST_LISTED = 10;

/** Reads what the workers wrote to the file of {@link TIMES_VARIABLE}. */
export function readTimes(path: string): readonly FileTime[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as FileTime);
}

/** Returns the lines that list the slowest files, slowest first. */
export function listSlowest(times: readonly FileTime[]): readonly string[] {
  const slowest = times.toSorted((a, b) => b.took_ms - a.took_ms).slice(0, MOST_LISTED);
  return slowest.map(({ file, took_ms }) => `${(took_ms / 1000).toFixed(1).padStart(6)} s  ${file}`);
}
