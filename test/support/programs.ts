import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * Whether a program is on the PATH. The project needs none of other languages; what only an example
 * of its documents needs is skipped by name where it is missing, so that ava counts it.
 */
export function isHere(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
}
