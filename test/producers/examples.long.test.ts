import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import test from "ava";

import { eventsOf } from "../ingest/posting.ts";
import { isHere } from "../support/programs.ts";
import { KEY, LOG, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";

const run = promisify(execFile);

/** The programs in `docs/producers`, and the tool that each needs. */
const EXAMPLES = [
  { page: "shell", file: "example.sh", command: ["sh"], tool: "curl" },
  { page: "python", file: "example.py", command: ["python3"], tool: "python3" },
  { page: "go", file: "main.go", command: ["go", "run"], tool: "go" },
  { page: "java", file: "Example.java", command: ["java"], tool: "java" },
  { page: "php", file: "example.php", command: ["php"], tool: "php" },
] as const;

for (const { page, file, command, tool } of EXAMPLES) {
  (isHere(tool) ? test : test.skip)(`the example for ${page} posts`, async (t) => {
    t.timeout(300_000);
    const service = await serviceOf(t, "embedded");
    const text = readFileSync(new URL(`../../docs/producers/${page}.md`, import.meta.url), "utf8");
    const code = /```\w+\n(?<code>.*?)```/s.exec(text)?.groups?.["code"] ?? "";
    const folder = temporaryFolder(t);
    const path = join(folder, file);
    writeFileSync(path, code.replaceAll("/1/logs/shop", `/1/logs/${LOG}`));
    const [program, ...arguments_] = command;
    const env = {
      ...process.env,
      LOGGIA_URL: service.postUrl,
      LOGGIA_KEY: KEY,
      GOFLAGS: "-mod=mod",
      GO111MODULE: "off",
    };
    const { stderr } = await run(program, [...arguments_, path], { env, cwd: folder });
    t.is(stderr.replaceAll(/^.*(?:INFO|SEVERE|Example main).*\n?|^.*Order 17 failed\n/gm, ""), "");
    const count = page === "shell" ? 4 : 1;
    const events = await eventsOf(service, count);
    t.is(events.length, count);
    const order = events.find((event) => event.text === "Order 17 failed");
    t.like(order, { source: "shop", tags: ["error"] });
  });
}
