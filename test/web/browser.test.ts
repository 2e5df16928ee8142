import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

import test from "ava";

const ROOT = new URL("../../", import.meta.url).pathname;
/** Packages that the page uses. */
const PACKAGES = new Set([
  "preact",
  "preact/hooks",
  "@preact/signals",
  "re2js",
  "d3-geo",
  "topojson-client",
  "world-atlas/countries-110m.json",
]);

/**
 * Returns the modules that a module imports, types included: the page is checked without Node's
 * types.
 */
function importsOf(file: string): string[] {
  const source = readFileSync(file, "utf8");
  // Elements of a page have texts and attributes that look like imports.
  const statements = /^(?:import|export|\})[^\n]*\bfrom "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm;
  return Array.from(source.matchAll(statements), ([, ...names]) => names.find((name) => name !== undefined)!);
}

/** Returns all reachable modules, each with the one that imports it. */
function reach(start: readonly string[]): Map<string, string> {
  const seen = new Map(start.map((file) => [file, "the start"]));
  for (const [file] of seen) {
    if (!existsSync(file)) continue;
    for (const name of importsOf(file)) {
      const to = name.startsWith(".") ? join(dirname(file), name) : name;
      if (!seen.has(to)) seen.set(to, relative(ROOT, file));
    }
  }
  return seen;
}

const PAGE = globSync("src/web/**/*.{ts,tsx}", { cwd: ROOT }).map((file) => join(ROOT, file));
const LANGUAGE = ["planner", "parser", "calendar", "grouped"].map((name) => join(ROOT, `src/query/${name}.ts`));

test("the page and the language import no module of Node, and no other part of the service", (t) => {
  const reached = reach([...PAGE, ...LANGUAGE]);
  t.true(reached.size > 30);
  for (const [file, from] of reached) {
    const isOurs = /^src\/(web|query|events)\/|^src\/errors[.]ts$/.test(relative(ROOT, file));
    t.true(PACKAGES.has(file) || (isOurs && existsSync(file)), `${from} imports ${file}`);
  }
});

test("their modules use no global of Node", (t) => {
  for (const file of reach([...PAGE, ...LANGUAGE]).keys()) {
    if (!existsSync(file)) continue;
    const code = readFileSync(file, "utf8").replace(/\/\*[^]*?\*\/|\/\/.*/g, "");
    t.notRegex(code, /\bBuffer\b|\bprocess\.|\bsetImmediate\b|\brequire\(/, relative(ROOT, file));
  }
});
