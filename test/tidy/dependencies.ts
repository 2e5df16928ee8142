import { cruise, type IReporterOutput } from "dependency-cruiser";
import extractConfig from "dependency-cruiser/config-utl/extract-depcruise-config";
import extractTSConfig from "dependency-cruiser/config-utl/extract-ts-config";

const CONFIG = new URL("../../.dependency-cruiser.json", import.meta.url).pathname;
const TS_CONFIG = new URL("../../tsconfig.json", import.meta.url).pathname;
/**
 * Fewer modules than this means that the tool could not read TypeScript, and would find nothing
 * wrong with anything.
 */
const LEAST_MODULES = 40;

/**
 * Holds the code below `folder` to the rules of who may import whom.
 *
 * @returns a line for each violation, and how many modules were looked at
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
