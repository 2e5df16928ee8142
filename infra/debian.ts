import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { StartError } from "../src/errors.ts";

const run = promisify(execFile);

/** Folder of unpacked packages, which are kept between runs. */
const FOLDER = resolve(import.meta.dirname, "../.engines/debian");
const LIBRARIES = ["x86_64-linux-gnu", "aarch64-linux-gnu", "syslog-ng", "systemd"].flatMap((name) => [
  `usr/lib/${name}`,
  `lib/${name}`,
]);

/** Debian packages that are unpacked, not installed. */
export type Unpacked = {
  /** Returns the first of these files that exists. @throws StartError if there is none */
  file(...candidates: readonly string[]): string;
  /** Environment in which programs of these packages find their libraries. */
  readonly environment: Readonly<Record<string, string>>;
};

/**
 * Downloads and unpacks Debian packages, once.
 * @throws StartError that says what is needed
 */
export async function unpackDebian(packages: readonly string[]): Promise<Unpacked> {
  const name = createHash("sha256").update(packages.join(" ")).digest("hex").slice(0, 12);
  const root = join(FOLDER, name);
  if (!existsSync(root)) await download(packages, root);
  const libraries = LIBRARIES.map((folder) => join(root, folder)).filter((folder) => existsSync(folder));
  return {
    file(...candidates) {
      const found = candidates.map((path) => join(root, path)).find((path) => existsSync(path));
      if (found !== undefined) return found;
      throw new StartError(`None of the packages ${packages.join(", ")} contains ${candidates.join(" or ")}`);
    },
    environment: { LD_LIBRARY_PATH: libraries.join(":") },
  };
}

/** Downloads packages. Test files may do so at the same time; the first complete result is kept. */
async function download(packages: readonly string[], root: string): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const folder = await mkdtemp(join(FOLDER, "download-"));
  try {
    const fetch = () => run("apt-get", ["-qq", "download", ...packages], { cwd: folder });
    await fetch().catch(async () => {
      // Missing or outdated package lists name files that no longer exist.
      await run("apt-get", ["-qq", "-o", "DPkg::Lock::Timeout=600", "update"]);
      await fetch();
    });
    const unpacked = join(folder, "root");
    const files = (await readdir(folder)).filter((file) => file.endsWith(".deb"));
    for (const file of files) await run("dpkg-deb", ["-x", join(folder, file), unpacked]);
    await rename(unpacked, root).catch((error: unknown) => {
      if (!existsSync(root)) throw error;
    });
  } catch (error) {
    const remedy = "this needs Debian or Ubuntu with access to its packages (apt-get download, dpkg-deb)";
    const why = error instanceof Error ? error.message.trim() : String(error);
    throw new StartError(`The tests with real clients need ${packages.join(", ")}; ${remedy}: ${why}`, {
      cause: error,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
