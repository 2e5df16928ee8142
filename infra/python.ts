import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { StartError } from "../src/errors.ts";

const run = promisify(execFile);

/** Folder of installed packages, which are kept between runs. */
const FOLDER = resolve(import.meta.dirname, "../.engines/python");

/**
 * Installs PyPI packages apart from the system's, once. Returns the folder for `PYTHONPATH`.
 * @param requirements file with all packages and their versions
 * @throws StartError that says what is needed
 */
export async function installPython(requirements: string): Promise<string> {
  const { stdout } = await run("python3", ["--version"]);
  const name = createHash("sha256").update(stdout).update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const root = join(FOLDER, name);
  if (existsSync(root)) return root;
  await mkdir(FOLDER, { recursive: true });
  const folder = await mkdtemp(join(FOLDER, "download-"));
  try {
    const target = join(folder, "lib");
    await run("python3", ["-m", "pip", "install", "--quiet", "--no-deps", "--target", target, "-r", requirements]);
    await rename(target, root).catch((error: unknown) => {
      if (!existsSync(root)) throw error;
    });
    return root;
  } catch (error) {
    const why = error instanceof Error ? error.message.trim() : String(error);
    throw new StartError(`The tests with Python clients need pip and PyPI: ${why}`, { cause: error });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
