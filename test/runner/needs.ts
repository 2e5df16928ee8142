import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What a test file may need that takes time to start. */
export type Need = "Kafka and Elasticsearch" | "a service or embedded engines" | "Chromium" | "child processes";

/** Modules by which a test file needs something, however indirectly it imports them. */
const MODULES: readonly { readonly need: Need; readonly matches: RegExp }[] = [
  { need: "Kafka and Elasticsearch", matches: /^test\/support\/engine-kinds\.ts$/ },
  {
    need: "a service or embedded engines",
    matches: /^(?:src\/main\.ts|node:sqlite|@duckdb\/.*|kafkajs|@elastic\/.*)$/,
  },
  { need: "Chromium", matches: /^playwright-core$/ },
  { need: "child processes", matches: /^node:child_process$/ },
];

/** Matches the imports of a module that remain at run time. */
const IMPORTS = /^(?:import|export)\s(?!type\b)[^"';]*?from "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm;

/**
 * Returns a function that tells what test files need, from everything that they import.
 * @param root folder of the project
 */
export function createNeeds(root: string): (file: string) => ReadonlySet<Need> {
  const imports = new Map<string, readonly string[]>();

  function importsOf(path: string): readonly string[] {
    const known = imports.get(path);
    if (known !== undefined) return known;
    const file = join(root, path);
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    const found = [...text.matchAll(IMPORTS)].map(([, from, bare, lazy]) => from ?? bare ?? lazy ?? "");
    const paths = found.map((name) => (name.startsWith(".") ? join(dirname(path), name) : name));
    imports.set(path, paths);
    return paths;
  }

  return (file) => {
    const reached = new Set([file]);
    // A set iterates over what is added meanwhile.
    for (const path of reached) for (const next of importsOf(path)) reached.add(next);
    const needs = MODULES.filter(({ matches }) => reached.values().some((path) => matches.test(path)));
    return new Set(needs.map(({ need }) => need));
  };
}
