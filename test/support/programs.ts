import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * Returns whether a program is on the PATH. The project itself needs no programs of other
 * languages; a test of a documented example that needs one is skipped by name if it is missing, so
 * that ava counts it.
 */
export function isHere(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
}
