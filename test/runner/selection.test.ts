import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "ava";
import type { ExecutionContext } from "ava";

import { temporaryFolder } from "../support/temporary.ts";
import { selectFiles } from "./selection.ts";

/** Files of a project, by path. */
const FILES = {
  "src/main.ts": 'import { DatabaseSync } from "node:sqlite";',
  "src/query/parser.ts": 'import type { Store } from "../main.ts";\nexport const parse = 1;',
  "test/support/engine-kinds.ts": "export const realEngines = true;",
  "test/support/service.ts": 'import { start } from "../../src/main.ts";',
  "test/query/parser.test.ts": 'import {\n  parse,\n} from "../../src/query/parser.ts";',
  "test/query/lexer.test.ts": "",
  "test/page/list.test.ts": 'import { chromium } from "playwright-core";\nimport "../support/service.ts";',
  "test/bus/kafka.test.ts": 'export { realEngines } from "../support/engine-kinds.ts";',
  "test/cli/start.test.ts": 'const { spawn } = await import("node:child_process");',
  "test/chaos/short.long.test.ts": 'import { spawn } from "node:child_process";',
};

function project(t: ExecutionContext): string {
  const root = temporaryFolder(t);
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const STANDARD = [
  "test/bus/kafka.test.ts",
  "test/cli/start.test.ts",
  "test/page/list.test.ts",
  "test/query/lexer.test.ts",
  "test/query/parser.test.ts",
];

test("a run has all files but the long ones, and says so", (t) => {
  const { files, needs, leftOut } = selectFiles(project(t), "standard", []);
  t.deepEqual(files, STANDARD);
  t.deepEqual(needs.size, 4);
  t.deepEqual(leftOut, ["Left to `make test-long`: 1 files (*.long.test.ts)."]);
});

test("the fast files need nothing, whatever they import as types; the others are counted by need", (t) => {
  const { files, needs, leftOut } = selectFiles(project(t), "fast", []);
  t.deepEqual(files, ["test/query/lexer.test.ts", "test/query/parser.test.ts"]);
  t.is(needs.size, 0);
  t.deepEqual(leftOut, [
    "Left to `make test`: 3 files that need Kafka and Elasticsearch (1), child processes (1), " +
      "a service or embedded engines (1), Chromium (1).",
    "Left to `make test-long`: 1 files (*.long.test.ts).",
  ]);
});

test("the long files are a run of their own, and run if they are named", (t) => {
  const root = project(t);
  t.deepEqual(selectFiles(root, "long", []).files, ["test/chaos/short.long.test.ts"]);
  t.deepEqual(selectFiles(root, "standard", ["chaos/short"]).files, ["test/chaos/short.long.test.ts"]);
  t.deepEqual(selectFiles(root, "standard", ["chaos"]).files, []);
});

test("files and folders are named with or without test/ and the ending", (t) => {
  const root = project(t);
  for (const name of ["query/parser", "test/query/parser.test.ts", "./test/query/parser.test.ts"]) {
    t.deepEqual(selectFiles(root, "standard", [name]).files, ["test/query/parser.test.ts"], name);
  }
  t.deepEqual(selectFiles(root, "standard", ["query/", "page", "query"]).files, [
    "test/page/list.test.ts",
    "test/query/lexer.test.ts",
    "test/query/parser.test.ts",
  ]);
  t.deepEqual([...selectFiles(root, "standard", ["bus"]).needs], ["Kafka and Elasticsearch"]);
});

test("a name that does not exist is refused, with similar ones", (t) => {
  t.throws(() => selectFiles(project(t), "standard", ["parser"]), {
    message: "No test file or folder is named test/parser. Did you mean test/query/parser.test.ts?",
  });
  t.throws(() => selectFiles(project(t), "standard", ["nothing"]), {
    message: "No test file or folder is named test/nothing.",
  });
});
