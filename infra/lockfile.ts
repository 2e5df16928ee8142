import { readFileSync, writeFileSync } from "node:fs";

/**
 * Completes `package-lock.json` with the optional packages of other platforms. npm omits packages
 * that it could not see when the lock was written, and `npm ci` then refuses the lock on every
 * platform. Run it after `npm install` (`make lock`).
 */

type Entry = {
  readonly version?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly dev?: boolean;
};
type Lock = { packages: Record<string, Entry | object> };

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

/** C libraries. npm installs the binaries of both if an entry names none. */
const LIBCS = [
  { word: "gnu", libc: "glibc" },
  { word: "musl", libc: "musl" },
] as const;

/** Returns whether a dependency of the package at `path` is locked, by Node's resolution order. */
function isLocked(packages: Lock["packages"], path: string, name: string): boolean {
  for (let at = path; ; at = at.slice(0, Math.max(at.lastIndexOf("node_modules/") - 1, 0))) {
    if (packages[`${at === "" ? "" : `${at}/`}node_modules/${name}`] !== undefined) return true;
    if (at === "") return false;
  }
}

/** Returns an entry for a package, with the platform derived from the words of its name. */
function entryFor(name: string, version: string, dev: boolean): object {
  const words = name.toLowerCase().split(/[-/]/);
  const os = SYSTEMS.filter((system) => words.includes(system));
  const cpu = PROCESSORS.filter((cpu) => words.includes(cpu) || (cpu === "arm" && words.includes("armv7")));
  const libc = os.includes("linux") ? LIBCS.filter(({ word }) => words.includes(word)).map(({ libc }) => libc) : [];
  return {
    version,
    ...(cpu.length > 0 && { cpu }),
    ...(dev && { dev }),
    ...(libc.length > 0 && { libc }),
    optional: true,
    ...(os.length > 0 && { os }),
  };
}

export function completeLock(lock: Lock): { lock: Lock; added: string[] } {
  const packages = { ...lock.packages };
  const added: string[] = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    const { optionalDependencies = {}, dev = false } = entry as Entry;
    for (const [name, range] of Object.entries(optionalDependencies)) {
      // Only exact versions can be locked unseen. Platform packages always have one.
      if (!/^\d/.test(range) || isLocked(packages, path, name)) continue;
      packages[`node_modules/${name}`] = entryFor(name, range, dev);
      added.push(name);
    }
  }
  const sorted = Object.entries(packages).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { lock: { ...lock, packages: Object.fromEntries(sorted) }, added };
}

if (import.meta.main) {
  const { lock, added } = completeLock(JSON.parse(readFileSync("package-lock.json", "utf8")) as Lock);
  writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
  console.log(
    added.length === 0
      ? "package-lock.json was complete"
      : `added ${added.length} optional packages to package-lock.json`,
  );
}
