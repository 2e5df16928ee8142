import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const PROJECT = resolve(import.meta.dirname, "../..");

/**
 * Creates what looks like a JDK: `java`, `javac`, `jar` and, unless `version` is null, its release
 * file.
 */
export function plantJdk(home: string, version: string | null): string {
  for (const name of ["java", "javac", "jar"]) plantProgram(join(home, "bin"), name, "exit 1");
  if (version !== null) writeFileSync(join(home, "release"), `IMPLEMENTOR="x"\nJAVA_VERSION="${version}"\n`);
  return home;
}

/** Creates a shell script. */
export function plantProgram(folder: string, name: string, script: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

export type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs a program to its end, with only the environment in `env`. */
export function runProgram(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> },
): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(program, args, { ...options, timeout: 300_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr });
    });
  });
}
