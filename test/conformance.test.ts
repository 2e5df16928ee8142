import test from "ava";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { MARKDOWN, replaceSection } from "../infra/generate/section.ts";
import { readScenarios } from "./scenarios/scenario.ts";

/**
 * Each row of `docs/conformance.md` that is not generated ends in the tests that verify it: `` `file`: "name", "name";
 * `file`: … ``
 */
const PROJECT = join(import.meta.dirname, "..");
const rows = replaceSection(readFileSync(join(PROJECT, "docs/conformance.md"), "utf8"), "", MARKDOWN)
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.endsWith("| shown by |"));

const REFERENCE = /`(?<file>[\w./-]+)`: (?<names>"[^"]+"(?:, "[^"]+")*)/g;
const references = rows.flatMap((row) => {
  const shown = row.split("|").at(-2) ?? "";
  return [...shown.matchAll(REFERENCE)].flatMap(({ groups }) =>
    [...(groups?.["names"] ?? "").matchAll(/"([^"]+)"/g)].map(([, name = ""]) => ({
      row,
      file: groups?.["file"] ?? "",
      name,
    })),
  );
});

const steps = new Map(readScenarios().map(({ file, scenario }) => [file, scenario.steps.map(({ name }) => name)]));

test("every row names the tests that verify it, in a readable format", (t) => {
  t.true(rows.length > 80);
  for (const row of rows) {
    const shown = row.split("|").at(-2) ?? "";
    t.is(shown.replaceAll(REFERENCE, "").replaceAll(";", "").trim(), "", row);
    t.true(
      references.some((reference) => reference.row === row),
      row,
    );
  }
});

test("every named step exists, once", (t) => {
  for (const { file, name } of references.filter((reference) => reference.file.endsWith(".yaml"))) {
    t.is(steps.get(file)?.filter((step) => step === name).length ?? 0, 1, `${file}: ${name}`);
  }
});

test("every named test exists", (t) => {
  for (const { file, name } of references.filter((reference) => !reference.file.endsWith(".yaml"))) {
    t.true(
      existsSync(join(PROJECT, file)) && readFileSync(join(PROJECT, file), "utf8").includes(name),
      `${file}: ${name}`,
    );
  }
});

test("every file of scenarios is named by a row", (t) => {
  const named = new Set(references.map(({ file }) => file));
  t.deepEqual(
    [...steps.keys()].filter((file) => !named.has(file)),
    [],
  );
});
