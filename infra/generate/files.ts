import { readFileSync } from "node:fs";
import { join } from "node:path";

import { endpointTable } from "./endpoint-table.ts";
import { replaceSection } from "./section.ts";

const PROJECT = join(import.meta.dirname, "../..");

/** A file of the project that is derived from code, in whole or in part. */
export type GeneratedFile = { readonly path: string; readonly current: string; readonly expected: string };

/** Returns all generated files, with their present and their expected text. */
export function generatedFiles(): readonly GeneratedFile[] {
  return [generated("docs/conformance.md", (page) => replaceSection(page, endpointTable()))];
}

function generated(name: string, write: (current: string) => string): GeneratedFile {
  const path = join(PROJECT, name);
  const current = readFileSync(path, "utf8");
  return { path, current, expected: write(current) };
}
