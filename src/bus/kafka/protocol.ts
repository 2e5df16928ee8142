import { globSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/**
 * Modules that kafkajs loads lazily, when it first sends a request or reads records of a kind: the
 * files by folder, as the modules there require them.
 */
const LAZY = { "requests/*": "v*/{request,response}.js", "message/compression": "gzip.js" };

/**
 * Loads these modules at startup. After an upgrade in place, a running process would not find them
 * any more, and would stop storing events until it is restarted.
 */
export function loadProtocol(): void {
  const protocol = join(dirname(createRequire(import.meta.url).resolve("kafkajs")), "src/protocol");
  for (const [folders, files] of Object.entries(LAZY)) {
    for (const folder of globSync(folders, { cwd: protocol })) {
      const cwd = join(protocol, folder);
      // Required with kafkajs's own specifiers: for a different one, Node accesses the disk before
      // it finds the module in its cache.
      const require = createRequire(join(cwd, "index.js"));
      for (const file of globSync(files, { cwd })) require(`./${file.replace(/\.js$/, "")}`);
    }
  }
}
