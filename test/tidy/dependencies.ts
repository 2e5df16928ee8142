import { cruise, type IReporterOutput } from "dependency-cruiser";
import extractConfig from "dependency-cruiser/config-utl/extract-depcruise-config";
import extractTSConfig from "dependency-cruiser/config-utl/extract-ts-config";

const CONFIG = new URL("../../.dependency-cruiser.json", import.meta.url).pathname;
const TS_CONFIG = new URL("../../tsconfig.json", import.meta.url).pathname;
/**
 * With fewer modules than this, the tool could not read TypeScript and would find no violations.
 */
const LEAST_MODULES = 40;

/**
 * Checks the code below `folder` against the rules for imports.
 *
 * @returns a line for each violation, and the number of modules checked
 */
export async function checkDependencies(folder: string): Promise<{ violations: string[]; modules: number }> {
  const { forbidden, options } = await extractConfig(CONFIG);
  const result: IReporterOutput = await cruise(
    ["src", "pipelines"],
    { ...options, baseDir: folder, ruleSet: { forbidden: forbidden ?? [] }, validate: true },
    undefined,
    { tsConfig: extractTSConfig(TS_CONFIG) },
  );
  if (typeof result.output === "string")
    throw new TypeError("the dependency rules gave text where a report was expected");
  const { violations, totalCruised } = result.output.summary;
  return { violations: violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`), modules: totalCruised };
}

if (import.meta.main) {
  const { violations, modules } = await checkDependencies(process.cwd());
  for (const violation of violations) console.error(violation);
  if (modules < LEAST_MODULES) console.error(`only ${modules} modules were found: the dependency rules hold nothing`);
  if (violations.length > 0 || modules < LEAST_MODULES) process.exitCode = 1;
  else console.log(`dependency rules hold for ${modules} modules`);
}
