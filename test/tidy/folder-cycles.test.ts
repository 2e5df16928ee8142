import test from "ava";

import { checkDependencies } from "./dependencies.ts";
import { folderCycles } from "./folder-cycles.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

function cyclesOf(...imports: readonly string[]): readonly string[] {
  return folderCycles(
    imports.map((line) => {
      const [source = "", imported = ""] = line.split(" > ");
      return { source, imports: [imported] };
    }),
  );
}

test("imports that point one way are no cycle", (t) => {
  t.deepEqual(cyclesOf("src/a/x.ts > src/b/y.ts", "src/a/z.ts > src/b/y.ts", "src/b/y.ts > src/c.ts"), []);
  t.deepEqual(cyclesOf("src/a/x.ts > src/a/b/y.ts", "src/a/b/y.ts > src/a/c/z.ts"), []);
});

test("two folders that import each other by different files are found", (t) => {
  t.deepEqual(cyclesOf("src/a/x.ts > src/b/y.ts", "src/b/z.ts > src/a/w.ts"), [
    "src: a → b → a (src/a/x.ts → src/b/y.ts, src/b/z.ts → src/a/w.ts)",
  ]);
});

test("a cycle round a corner is found, at any depth", (t) => {
  const cycles = cyclesOf(
    "src/s/a/x.ts > src/s/b/y.ts",
    "src/s/b/y.ts > src/s/c.ts",
    "src/s/c.ts > src/s/a/deep/z.ts",
    "src/s/d/e.ts > src/s/a/x.ts",
  );
  t.deepEqual(
    cycles.map((line) => line.split(" (", 1)[0]!),
    ["src/s: a → b → c.ts → a"],
  );
});

test("a file and a folder beside it that import each other are found", (t) => {
  const cycles = cyclesOf("src/a.ts > src/a/x.ts", "src/a/y.ts > src/a.ts");
  t.deepEqual(
    cycles.map((line) => line.split(" (", 1)[0]!),
    ["src: a → a.ts → a"],
  );
});

test("each knot of a folder is reported, and one of another folder too", (t) => {
  const cycles = cyclesOf(
    "src/a.ts > src/b.ts",
    "src/b.ts > src/a.ts",
    "src/c.ts > src/d.ts",
    "src/d.ts > src/c.ts",
    "pipelines/e.ts > pipelines/f.ts",
    "pipelines/f.ts > pipelines/e.ts",
  );
  t.is(cycles.length, 3);
});

test("src and pipelines, which are composed by the former, are not compared with each other", (t) => {
  t.deepEqual(cyclesOf("src/main.ts > pipelines/run.ts", "pipelines/run.ts > src/errors.ts"), []);
});

test("no files and folders beside each other import each other, directly or round a corner", async (t) => {
  const { cycles, modules } = await checkDependencies(ROOT);
  t.true(modules > 500, `${modules} modules`);
  t.deepEqual(cycles, []);
});
