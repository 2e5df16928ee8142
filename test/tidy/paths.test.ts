import { existsSync, readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import test from "ava";

const ROOT = new URL("../..", import.meta.url).pathname;
/** Matches a path of the project in backticks. */
const QUOTED = /`(?<path>(?:src|pipelines|infra|test|bench|docs|examples)\/[\w./-]+)`/g;
/** Guides name files that do not exist before they are followed. */
const GUIDES = "CONTRIBUTING.md";

test("every path that documentation quotes exists", (t) => {
  const documents = execFileSync("git", ["ls-files", "*.md"], { cwd: ROOT, encoding: "utf8" }).trim().split("\n");
  t.true(documents.length > 50);
  const missing = documents
    .filter((document) => document !== GUIDES)
    .flatMap((document) =>
      Array.from(readFileSync(join(ROOT, document), "utf8").matchAll(QUOTED), ({ groups }) => groups!["path"]!)
        .filter((path) => !existsSync(join(ROOT, path)))
        .map((path) => `${document}: ${path}`),
    );
  t.deepEqual(missing, []);
});
