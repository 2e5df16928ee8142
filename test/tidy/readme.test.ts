import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import test from "ava";

import { ALL_SETTINGS, LISTED_SETTINGS } from "../../src/settings.ts";

const ROOT = new URL("../../", import.meta.url);
const README = readFileSync(new URL("README.md", ROOT), "utf8");
const MAKEFILE = readFileSync(new URL("Makefile", ROOT), "utf8");

test("the README's table of make targets has each target, and no other", (t) => {
  const targets = [...MAKEFILE.matchAll(/^([a-z-]+):.*## /gm)]
    .map(([, name]) => name)
    .filter((name) => name !== "help");
  const listed = [...README.matchAll(/`make ([a-z-]+)`(?=[^\n]*\|)/g)].map(([, name]) => name);
  for (const target of targets) t.true(listed.includes(target), `make ${target} is missing`);
  for (const name of listed) t.true(targets.includes(name), `make ${name} is no target`);
});

test("make help lists every setting but those for tests", (t) => {
  const help = execFileSync("make", ["help"], { cwd: ROOT, encoding: "utf8" });
  for (const row of ALL_SETTINGS) t.is(help.includes(`  ${row.name} `), LISTED_SETTINGS.includes(row), row.name);
});

test("documents run TypeScript with the project's Node, as an older one can't", (t) => {
  const files = execFileSync("git", ["ls-files", "*.md", ":!docs/decisions"], { cwd: ROOT, encoding: "utf8" });
  const commands = files
    .trim()
    .split("\n")
    .flatMap((file) =>
      readFileSync(new URL(file, ROOT), "utf8")
        .split("\n")
        .flatMap((line) => [...line.matchAll(/(?:^ *|`|\$ )(?<node>\S*\bnode) \S+\.ts\b/g)])
        .map(({ groups }) => ({ file, node: groups!["node"]! })),
    );
  t.true(commands.length > 2);
  t.deepEqual(
    commands.filter(({ node }) => node !== "node_modules/.bin/node"),
    [],
  );
});
