import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";

const FOLDER = new URL("../../docs/decisions/", import.meta.url).pathname;
/** Words of a page. */
const MOST_WORDS = 600;

test("each decision has its number, a title and a status, fits a page, and is in the index once", (t) => {
  const files = readdirSync(FOLDER).filter((name) => name !== "README.md");
  t.true(files.length > 50);
  const index = readFileSync(join(FOLDER, "README.md"), "utf8");
  const expected = files.map((file) => {
    const text = readFileSync(join(FOLDER, file), "utf8");
    const { title = "", status = "" } = /^# (?<title>.+)\n\n\*\*Status\.\*\* (?<status>.+)\n/.exec(text)?.groups ?? {};
    t.is(title.slice(0, 5), `${file.slice(0, 4)} `, file);
    t.regex(status, /^Accepted|^Replaced/, file);
    t.true(text.split(/\s+/).length <= MOST_WORDS, `${file} is longer than ${MOST_WORDS} words`);
    return `- [${title}](${file})`;
  });
  t.deepEqual(
    index
      .split("\n")
      .filter((line) => line.startsWith("- "))
      .toSorted(),
    expected.toSorted(),
  );
});
