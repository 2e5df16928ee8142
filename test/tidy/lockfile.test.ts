import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import test from "ava";

const ROOT = new URL("../../", import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, ROOT), "utf8"));

type Entry = {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly libc?: readonly string[];
};
const { packages } = read("package-lock.json") as { packages: Record<string, Entry> };
const manifest = read("package.json") as Record<"dependencies" | "devDependencies", Record<string, string>> & {
  allowScripts: Record<string, boolean>;
};
const locked = Object.entries(packages).filter(([path]) => path !== "");
const nameOf = (path: string): string => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

/**
 * Returns whether an entry is a binary for another platform: npm could not see it when the lock was
 * written, and does not install it here.
 */
function isForeign(path: string, { optional = false }: Entry): boolean {
  return optional && !existsSync(new URL(path, ROOT));
}

test("every installed package is locked by its hash", (t) => {
  const open = locked.filter(([path, entry]) => entry.integrity === undefined && !isForeign(path, entry));
  t.deepEqual(
    open.map(([path]) => path),
    [],
  );
  for (const [path, { integrity }] of locked)
    if (integrity !== undefined) t.regex(integrity, /^sha512-[A-Za-z0-9+/]{86}==$/, path);
  t.true(locked.length > 100);
});

test("every package comes from a registry", (t) => {
  for (const [path, { resolved, link = false }] of locked) {
    t.false(link, path);
    if (resolved !== undefined) t.regex(resolved, /^https:\/\/registry\.npmjs\.org\//, path);
  }
});

test("every dependency has an exact version, which is the locked one", (t) => {
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    const exact = version.replace(/^npm:.*@(?=\d)/, "");
    t.regex(exact, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name);
    t.is(packages[`node_modules/${name}`]?.version, exact, name);
  }
});

test("the hash of the Node that runs the service is locked", (t) => {
  const [hash = "", file = ""] = readFileSync(new URL("infra/node.sha256", ROOT), "utf8").trim().split(/ +/);
  t.is(file, "node_modules/node/bin/node");
  t.regex(hash, /^[0-9a-f]{64}$/);
  if (process.platform !== "linux" || process.arch !== "x64") return;
  t.is(
    createHash("sha256")
      .update(readFileSync(new URL(file, ROOT)))
      .digest("hex"),
    hash,
  );
});

test("no package runs a script when it is installed, except the named ones", (t) => {
  const scripted = new Set(
    locked.filter(([, { hasInstallScript = false }]) => hasInstallScript).map(([path]) => nameOf(path)),
  );
  const unnamed = [...scripted].filter((name) => !Object.hasOwn(manifest.allowScripts, name));
  t.deepEqual(unnamed, []);
  const allowed = Object.entries(manifest.allowScripts)
    .filter(([, may]) => may)
    .map(([name]) => name);
  t.deepEqual(allowed, ["node"], "Node itself, which its package brings by its script");
});

test("a binary for one C library of Linux declares it, so that npm does not install it beside the other's", (t) => {
  const silent = locked.filter(([path, { libc }]) => /linux.*-(musl|gnu)$/.test(path) && libc === undefined);
  t.deepEqual(
    silent.map(([path]) => path),
    [],
  );
});
