import { cruise, type ICruiseResult, type IReporterOutput } from "dependency-cruiser";
import extractConfig from "dependency-cruiser/config-utl/extract-depcruise-config";
import extractTSConfig from "dependency-cruiser/config-utl/extract-ts-config";

import { folderCycles } from "./folder-cycles.ts";
import type { ImportingModule } from "./folder-cycles.ts";

const CONFIG = new URL("../../.dependency-cruiser.json", import.meta.url).pathname;
const TS_CONFIG = new URL("../../tsconfig.json", import.meta.url).pathname;
/**
 * With fewer modules than this, the tool could not read TypeScript and would find no violations.
 */
const LEAST_MODULES = 40;

/** What the rules for imports find. */
export type CheckedDependencies = {
  /** A line for each import that violates a rule. */
  readonly violations: readonly string[];
  /** A line for each cycle of files and folders beside each other. */
  readonly cycles: readonly string[];
  /** Number of modules that were checked. */
  readonly modules: number;
};

/** Checks the code below `folder` against the rules for imports. */
export async function checkDependencies(folder: string): Promise<CheckedDependencies> {
  const { forbidden, options } = await extractConfig(CONFIG);
  const { output }: IReporterOutput = await cruise(
    ["src", "pipelines"],
    { ...options, baseDir: folder, ruleSet: { forbidden: forbidden ?? [] }, validate: true },
    undefined,
    { tsConfig: extractTSConfig(TS_CONFIG) },
  );
  if (typeof output === "string") throw new TypeError("the dependency rules gave text where a report was expected");
  const { violations, totalCruised } = output.summary;
  return {
    violations: violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`),
    cycles: folderCycles(ownModules(output)),
    modules: totalCruised,
  };
}

function ownModules({ modules }: ICruiseResult): readonly ImportingModule[] {
  const own = modules.filter(({ source }) => /^(?:src|pipelines)\//.test(source));
  return own.map(({ source, dependencies }) => ({ source, imports: dependencies.map(({ resolved }) => resolved) }));
}

if (import.meta.main) {
  const { violations, cycles, modules } = await checkDependencies(process.cwd());
  for (const fault of [...violations, ...cycles]) console.error(fault);
  if (modules < LEAST_MODULES) console.error(`only ${modules} modules were found: the dependency rules hold nothing`);
  if (violations.length + cycles.length > 0 || modules < LEAST_MODULES) process.exitCode = 1;
  else console.log(`dependency rules hold for ${modules} modules`);
}
