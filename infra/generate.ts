import { writeFileSync } from "node:fs";

import { generatedFiles } from "./generate/files.ts";

/** Writes the files that are derived from the endpoints of the API. */
for (const { path, current, expected } of generatedFiles()) {
  if (current !== expected) writeFileSync(path, expected);
}
