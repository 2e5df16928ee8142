import { execFile } from "node:child_process";
import { access, readFile, readdir, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { StartError } from "../../src/errors.ts";

/** Elasticsearch 9 and the source-file launch of its launcher require this release or newer. */
const OLDEST_RELEASE = 21;

export type Jdk = { readonly home: string; readonly release: number };

export type JdkPlaces = {
  /** Environment with JAVA_HOME and PATH. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders that contain JDKs. */
  readonly roots: readonly string[];
};

const DEFAULT_PLACES: JdkPlaces = {
  env: process.env,
  roots: [
    "/usr/lib/jvm",
    "/usr/java",
    "/opt/java",
    "/Library/Java/JavaVirtualMachines",
    join(homedir(), "Library/Java/JavaVirtualMachines"),
    join(homedir(), ".sdkman/candidates/java"),
    join(homedir(), ".jdks"),
    "/opt/homebrew/opt",
    "/usr/local/opt",
  ],
};

/**
 * Finds a JDK of release 21 or newer: that of JAVA_HOME if new enough, else the newest installed.
 * @throws StartError that says what to install
 */
export async function findJdk(places: JdkPlaces = DEFAULT_PLACES): Promise<Jdk> {
  const javaHome = places.env["JAVA_HOME"];
  const chosen = javaHome ? await examine(javaHome) : null;
  if (chosen && chosen.release >= OLDEST_RELEASE) return chosen;

  const homes = [...(await installed(places.roots)), ...(await onPath(places.env["PATH"] ?? ""))];
  const found = (await Promise.all(homes.map(examine))).filter((jdk) => jdk !== null);
  const newest = found.toSorted((a, b) => b.release - a.release)[0];
  if (newest && newest.release >= OLDEST_RELEASE) return newest;

  const seen = newest ? ` (the newest found is ${newest.release}, in ${newest.home})` : "";
  throw new StartError(
    `The local engines need a JDK of release ${OLDEST_RELEASE} or newer${seen}: ` +
      "install one (Debian 13, Ubuntu: apt install openjdk-21-jdk-headless; Debian 12 has none, see " +
      "https://adoptium.net/installation/linux; macOS: brew install openjdk) or point JAVA_HOME at it.",
  );
}

/** Returns the homes below each root. In macOS bundles and Homebrew kegs they are nested deeper. */
async function installed(roots: readonly string[]): Promise<string[]> {
  const lists = await Promise.all(
    roots.map(async (root) => {
      const names = await readdir(root).catch(() => []);
      return names.flatMap((name) => [
        join(root, name),
        join(root, name, "Contents/Home"),
        join(root, name, "libexec/openjdk.jdk/Contents/Home"),
      ]);
    }),
  );
  return lists.flat();
}

async function onPath(path: string): Promise<string[]> {
  const homes = await Promise.all(
    path
      .split(delimiter)
      .filter((folder) => folder !== "")
      .map((folder) =>
        realpath(join(folder, "java")).then(
          (java) => dirname(dirname(java)),
          () => null,
        ),
      ),
  );
  return homes.filter((home) => home !== null);
}

/** Returns the JDK at `home`; null if there is none. A JRE, without compiler, does not count. */
async function examine(home: string): Promise<Jdk | null> {
  try {
    await Promise.all([access(join(home, "bin/java")), access(join(home, "bin/javac"))]);
    return { home, release: await releaseOf(home) };
  } catch {
    return null;
  }
}

async function releaseOf(home: string): Promise<number> {
  const file = await readFile(join(home, "release"), "utf8").catch(() => "");
  const version =
    /^JAVA_VERSION="([^"]+)"/m.exec(file)?.[1] ??
    /"([^"]+)"/.exec((await promisify(execFile)(join(home, "bin/java"), ["-version"])).stderr)?.[1] ??
    "0";
  // Up to Java 8, the release was the second number: 1.8.0_392.
  return Number.parseInt(version.startsWith("1.") ? version.slice(2) : version, 10);
}
