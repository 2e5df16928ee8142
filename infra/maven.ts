import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { StartError } from "../src/errors.ts";
import type { Jdk } from "./engines/jdk.ts";

const run = promisify(execFile);

/** Folder of jars, which are kept between runs. */
const FOLDER = resolve(import.meta.dirname, "../.engines/maven");

/**
 * Copies the dependencies of a Maven project to a folder, once, and returns the folder.
 * @param pom file of the project
 * @throws StartError that says what is needed
 */
export async function copyMavenJars(pom: string, { home }: Jdk): Promise<string> {
  const root = join(FOLDER, createHash("sha256").update(readFileSync(pom)).digest("hex").slice(0, 12));
  if (existsSync(root)) return root;
  await mkdir(FOLDER, { recursive: true });
  const folder = await mkdtemp(join(FOLDER, "download-"));
  try {
    const words = ["-q", "-B", "-f", pom, "dependency:copy-dependencies", `-DoutputDirectory=${join(folder, "lib")}`];
    await run("mvn", words, { env: { ...process.env, JAVA_HOME: home } });
    await rename(join(folder, "lib"), root).catch((error: unknown) => {
      if (!existsSync(root)) throw error;
    });
    return root;
  } catch (error) {
    const { message = String(error), stdout = "" } = error as { message?: string; stdout?: string };
    throw new StartError(`The tests with Java clients need Maven and its central repository: ${message}\n${stdout}`, {
      cause: error,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
