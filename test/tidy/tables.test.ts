import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import test from "ava";

const ROOT = new URL("../../", import.meta.url);
const PAGES = execFileSync("git", ["ls-files", "*.md"], { cwd: ROOT, encoding: "utf8" }).trim().split("\n");

test("every table of the documents has a header, which a blank line within it would cut off", (t) => {
  t.true(PAGES.length > 10);
  for (const page of PAGES) {
    const lines = readFileSync(new URL(page, ROOT), "utf8").split("\n");
    for (const [i, line] of lines.entries()) {
      const isFirst = line.startsWith("|") && lines[i - 1]?.startsWith("|") !== true;
      if (isFirst) t.regex(lines[i + 1] ?? "", /^\|[-: |]+\|$/, `${page}:${i + 1}`);
    }
  }
});
