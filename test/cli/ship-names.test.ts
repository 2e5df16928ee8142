import test from "ava";

import { baseName, isGenerationName } from "../../src/cli/ship/generation-names.ts";

const GENERATIONS = [
  "app.log.1",
  "app.log.10.gz",
  "app.log-20260101",
  "app.log-20260101.zst",
  "app.log.2026-01-01.3",
  "app.log.old",
  "app.1.log",
  "app-1.log.gz",
  "app-2026-01-01.log",
  "app.2026-01-01.2.log.gz",
  "app_1763892000.log",
];
const OTHERS = [
  "app.log",
  "app-6379.log",
  "app-server.log",
  "application.log",
  "app.log.tmp",
  "app.1.txt",
  "web.log.1",
];

test("names that rotation gives are told from those of other files", (t) => {
  for (const name of GENERATIONS) {
    t.true(isGenerationName("app.log", name), name);
    t.is(baseName(name), "app.log", name);
  }
  for (const name of OTHERS) t.false(isGenerationName("app.log", name), name);
  t.true(isGenerationName("syslog", "syslog.1"));
  t.true(isGenerationName("app.log", "app.log.gz"));
});
