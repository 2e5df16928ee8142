import { writeFileSync } from "node:fs";

import { generate, GENERATED } from "./generate/files.ts";

/** Writes the sections of files that are derived from the endpoints of the API. */
for (const file of GENERATED) {
  const { path, current, expected } = await generate(file);
  if (current !== expected) writeFileSync(path, expected);
}
