import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import test from "ava";

const ROOT = new URL("../../", import.meta.url);
const LOGGIA = new URL("src/cli/loggia.mjs", ROOT).pathname;
const FOLDER = new URL("docs/producers/", ROOT);
const PAGES = readdirSync(FOLDER).filter((name) => name.endsWith(".md") && name !== "README.md");
/** Lines within which a page shows what to paste. */
const FIRST_LINES = 12;

function readPage(name: string): string {
  return readFileSync(new URL(name, FOLDER), "utf8");
}

for (const page of PAGES) {
  test(`${page} begins with what to paste`, (t) => {
    const lines = readPage(page).split("\n");
    const block = lines.findIndex((line) => line.startsWith("```"));
    t.true(block > 0 && block < FIRST_LINES, `its first block of code is on line ${block + 1}`);
    t.false(
      lines.slice(0, block).some((line) => line.startsWith("|")),
      "a table precedes it",
    );
  });
}

test("the list of producers links to every page", (t) => {
  const list = readPage("README.md");
  for (const page of PAGES) t.true(list.includes(`](${page}`), page);
});

test("every option of `loggia ship` in the documents is one", (t) => {
  const ship = execFileSync(process.execPath, [LOGGIA, "ship", "--help"], { encoding: "utf8" });
  const known = new Set(ship.match(/(?<= )--[a-z-]+/g));
  const documents = execFileSync("git", ["ls-files", "README.md", "docs/*.md"], { cwd: ROOT, encoding: "utf8" });
  const commands = documents
    .trim()
    .split("\n")
    .filter((file) => !file.startsWith("docs/decisions/"))
    .flatMap((file) => [...readFileSync(new URL(file, ROOT), "utf8").matchAll(/loggia ship(?<words>[^`\n|]*)/g)]);
  t.true(commands.length > 20);
  for (const { groups } of commands) {
    const [own = ""] = groups!["words"]!.split(/ -- |#/);
    for (const [option] of own.matchAll(/(?<=\s)--[a-z-]+/g)) t.true(known.has(option), `loggia ship${own}`);
  }
});
