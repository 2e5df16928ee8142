import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import test from "ava";

import { TIMES_VARIABLE } from "./times.ts";
import type { FileTime } from "./times.ts";

// ava loads this module into each worker before its test file.
const path = process.env[TIMES_VARIABLE];
if (path !== undefined) {
  // Tests replace the other clocks.
  const start_ns = process.hrtime.bigint();
  const file = relative(process.cwd(), fileURLToPath(test.meta.file));
  process.once("exit", () => {
    const time: FileTime = { file, took_ms: Number(process.hrtime.bigint() - start_ns) / 1e6 };
    appendFileSync(path, `${JSON.stringify(time)}\n`);
  });
}
