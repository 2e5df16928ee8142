import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import test from "ava";

const ROOT = new URL("../../", import.meta.url);
const MAX_LINES = 400;
const MAX_COLUMNS = 120;
const CODE = ["*.ts", "*.tsx", "*.mts", "*.mjs"];
/** Folders with a limit on the length of files, style sheets included. Tests have none. */
const SHORT = /^(?:src|pipelines|infra|bench)\/.*\.(?:[tj]sx?|m[tj]s|css)$/;
/** A comment line without code before it: `// …`, `/* …`, ` * …`, and JSX's `{/* …`. */
const COMMENT = /^\s*(?:\/\/|\/?\*|\{\/\*)/;

function linesOf(file: string): string[] {
  return readFileSync(new URL(file, ROOT), "utf8").replace(/\n$/, "").split("\n");
}

function filesOf(...patterns: readonly string[]): string[] {
  return execFileSync("git", ["ls-files", ...patterns], { cwd: ROOT, encoding: "utf8" })
    .trim()
    .split("\n");
}

test(`no file of the service, its tools or its benchmarks has more than ${MAX_LINES} lines`, (t) => {
  const files = filesOf().filter((file) => SHORT.test(file));
  t.true(files.length > 500, "git ls-files lists fewer files than there are");
  const long = files
    .map((file) => ({ file, lines: linesOf(file).length }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ file, lines }) => `${file}: ${lines} lines`);
  t.deepEqual(long, [], "Move a class or a group of functions to a file beside each of these");
});

test(`no line of a comment has more than ${MAX_COLUMNS} columns`, (t) => {
  const files = filesOf(...CODE);
  t.true(files.length > 1_000, "git ls-files lists fewer files than there are");
  const wide = files.flatMap((file) =>
    linesOf(file)
      .map((line, i) => ({ line, place: `${file}:${i + 1}`, columns: [...line].length }))
      .filter(({ line, columns }) => columns > MAX_COLUMNS && COMMENT.test(line))
      .map(({ place, columns }) => `${place}: ${columns} columns`),
  );
  t.deepEqual(wide, [], "Wrap each of these comments at 100 columns, or say it in fewer words");
});
