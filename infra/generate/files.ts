import { readFileSync } from "node:fs";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";

import { endpointTable } from "./endpoint-table.ts";
import { loggerTable } from "./logger-table.ts";
import { recordTypes } from "./record-types.ts";
import { settingsTable } from "./settings-table.ts";
import { MARKDOWN, replaceSection, TYPESCRIPT } from "./section.ts";

const PROJECT = join(import.meta.dirname, "../..");

/** A file with a section that is derived from code. */
export type GeneratedFile = {
  /** Below the folder of the project. */
  readonly name: string;
  readonly section: () => string;
  readonly markers: typeof MARKDOWN;
};

export const GENERATED: readonly GeneratedFile[] = [
  { name: "docs/conformance.md", section: endpointTable, markers: MARKDOWN },
  { name: "docs/settings.md", section: settingsTable, markers: MARKDOWN },
  { name: "docs/producers/README.md", section: loggerTable, markers: MARKDOWN },
  { name: "src/web/parts/api/types.ts", section: recordTypes, markers: TYPESCRIPT },
];

/** Returns the path of a generated file, its present text and the text that it should have. */
export async function generate({ name, section, markers }: GeneratedFile): Promise<{
  readonly path: string;
  readonly current: string;
  readonly expected: string;
}> {
  const path = join(PROJECT, name);
  const current = readFileSync(path, "utf8");
  const text = replaceSection(current, section(), markers);
  const expected = name.endsWith(".ts") ? await format(text, { ...(await resolveConfig(path)), filepath: path }) : text;
  return { path, current, expected };
}
