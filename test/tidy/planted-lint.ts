import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ExecutionContext } from "ava";

import { temporaryFolder } from "../support/temporary.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

export type LintedFiles = {
  /** The files in which the lint rules find faults, sorted. */
  readonly faulty: readonly string[];
  readonly output: string;
};

/** Runs the lint rules of this repository on files by path and text. */
export function lintPlanted(t: ExecutionContext, files: Readonly<Record<string, string>>): LintedFiles {
  const folder = temporaryFolder(t);
  copyFileSync(join(ROOT, ".oxlintrc.json"), join(folder, ".oxlintrc.json"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { stdout } = spawnSync(join(ROOT, "node_modules/.bin/oxlint"), ["--format=unix"], {
    cwd: folder,
    encoding: "utf8",
  });
  const faulty = Object.keys(files).filter((path) => stdout.includes(`${path}:`));
  return { faulty: faulty.toSorted(), output: stdout };
}
