import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { transform } from "esbuild";

/**
 * Minifies the script that pages load from `/loggia.js`. The result is kept beside its source, so
 * that a process that only posts needs no build. Run `node infra/snippet.ts` after changing the
 * source.
 */

const SOURCE = new URL("../src/ingest/pages/loggia.js", import.meta.url);
export const SNIPPET = new URL("../src/ingest/pages/loggia.min.js", import.meta.url);

export async function makeSnippet(): Promise<string> {
  const { code } = await transform(readFileSync(SOURCE, "utf8"), { minify: true, target: "es2021" });
  return code;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) writeFileSync(SNIPPET, await makeSnippet());
