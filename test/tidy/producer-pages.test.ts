import { readdirSync, readFileSync } from "node:fs";
import test from "ava";

const FOLDER = new URL("../../docs/producers/", import.meta.url);
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
