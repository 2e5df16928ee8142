import { globSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/**
 * What kafkajs loads when it first sends a request, or meets records, of each kind: by folder, the
 * files that a module there asks for, by these names.
 */
const LAZY = { "requests/*": "v*/{request,response}.js", "message/compression": "gzip.js" };

/**
 * Loads that now. A process whose files are replaced under it, as an upgrade in place does, would
 * not find it then, and take nothing more until it is started anew. Costs 7 MB, and 50 ms of a
 * start.
 */
export function loadProtocol(): void {
  const protocol = join(dirname(createRequire(import.meta.url).resolve("kafkajs")), "src/protocol");
  for (const [folders, files] of Object.entries(LAZY)) {
    for (const folder of globSync(folders, { cwd: protocol })) {
      const cwd = join(protocol, folder);
      // Asked for as kafkajs does, for Node looks at the disk before it knows that a module asked
      // for otherwise is the same.
      const require = createRequire(join(cwd, "index.js"));
      for (const file of globSync(files, { cwd })) require(`./${file.replace(/\.js$/, "")}`);
    }
  }
}
