import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import test from "ava";

import { eventsOf } from "../ingest/posting.ts";
import { KEY, LOG, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";

const run = promisify(execFile);

/** The programs of `docs/producers`, as they stand there. `version` says whether the tool is installed. */
const EXAMPLES = [
  { page: "shell", file: "example.sh", command: ["sh"], version: ["curl", "--version"] },
  { page: "python", file: "example.py", command: ["python3"], version: ["python3", "--version"] },
  { page: "go", file: "main.go", command: ["go", "run"], version: ["go", "version"] },
  { page: "java", file: "Example.java", command: ["java"], version: ["java", "-version"] },
  { page: "php", file: "example.php", command: ["php"], version: ["php", "--version"] },
] as const;

for (const { page, file, command, version } of EXAMPLES) {
  test(`the example for ${page} posts`, async (t) => {
    t.timeout(300_000);
    const [tool, ...words] = version;
    const missing = await run(tool, words).then(
      () => null,
      (error: Error) => error.message,
    );
    if (missing !== null) {
      t.log(`left out: ${missing}`);
      t.pass();
      return;
    }
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
