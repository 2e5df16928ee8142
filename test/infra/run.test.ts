import { copyFileSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";
import type { ExecutionContext } from "ava";
import { temporaryFolder } from "../support/temporary.ts";
import { PROJECT, plantJdk, plantProgram, runProgram } from "./support.ts";
import type { Outcome } from "./support.ts";

/** Test files by name; most end in a way of their own. */
const FILES = {
  mixed: `
    test("passes", (t) => t.pass());
    test("fails", (t) => t.is(1, 2));
    test.skip("skipped", (t) => t.fail());
    test.todo("to do");
    test.failing("known to fail", (t) => t.fail());
    test("logs and prints what looks like results", (t) => {
      console.log("77 passed, 0 failed");
      console.error("  ✔ printed, not passed");
      t.log("  ✔ logged, not passed");
      t.pass();
    });`,
  crashes: `throw new Error("while loading");`,
  "crashes-late": `
    test("passes first", (t) => { t.pass(); setTimeout(() => { throw new Error("late"); }, 300); });
    test("stays on", async (t) => { t.pass(); await new Promise((resolve) => setTimeout(resolve, 600_000)); });`,
  hangs: `test("hangs", async (t) => { t.pass(); await new Promise((resolve) => setTimeout(resolve, 600_000)); });`,
  lingers: `test("leaves a timer behind", (t) => { t.pass(); setInterval(() => {}, 1000); });`,
  rejects: `test("passes and rejects", (t) => { t.pass(); void Promise.reject(new Error("unhandled")); });`,
  leaves: `test("leaves", () => process.exit(0));`,
  empty: "",
  hooked: `
    test.before(() => { throw new Error("in the hook"); });
    test("never runs", (t) => t.pass());`,
  passes: `test("passes", (t) => t.pass());`,
  cluster: `import { realEngines } from "./support/engine-kinds.ts"; test("passes", (t) => t.false(realEngines));`,
  "slow.long": `test("passes", (t) => t.pass());`,
} as const;

/** Runs the runner in a project of its own with these files. */
async function run(
  t: ExecutionContext,
  files: readonly (keyof typeof FILES)[],
  args: readonly string[] = [],
  env: Record<string, string> = { TEST_ENGINES: "embedded" },
): Promise<Outcome & { lines: string[] }> {
  const folder = temporaryFolder(t);
  symlinkSync(join(PROJECT, "node_modules"), join(folder, "node_modules"));
  const ava = { extensions: ["ts"], files: ["test/**/*.test.ts"], require: ["./test/runner/worker.ts"] };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", ava }));
  mkdirSync(join(folder, "test/support"), { recursive: true });
  for (const path of ["runner/worker.ts", "runner/times.ts", "support/engine-kinds.ts"]) {
    cpSync(join(PROJECT, "test", path), join(folder, "test", path));
  }
  for (const file of files) {
    writeFileSync(join(folder, `test/${file}.test.ts`), `import test from "ava";\n${FILES[file]}\n`);
  }
  const outcome = await runProgram(process.execPath, [join(PROJECT, "test/run.ts"), ...args], { cwd: folder, env });
  return { ...outcome, lines: outcome.stdout.trimEnd().split("\n") };
}

const LEFT_OUT = /^TEST_ENGINES=embedded: tests that need Kafka or Elasticsearch are left out\.$/;

test("each failure is counted once, and only the last line is a result", async (t) => {
  const { code, lines, stderr } = await run(t, ["mixed", "crashes", "rejects", "leaves", "empty", "hooked", "cluster"]);
  // Failed: one of mixed, a crash, a rejection, an exit, a file without tests, a hook.
  t.is(lines.at(-1), "4 passed, 6 failed");
  t.is(code, 1);
  const alike = [...lines, ...stderr.split("\n")].filter((line) => /^\s*\d+ passed, \d+ failed\s*$/.test(line));
  t.is(alike.length, 1);
  t.true(stderr.includes("> 77 passed, 0 failed"));
  t.regex(lines[0]!, LEFT_OUT);
  const failures = lines.slice(lines.indexOf("Failed:") + 1, -2);
  for (const file of ["mixed › fails", "crashes", "rejects", "leaves", "empty", "hooked"]) {
    t.true(
      failures.some((line) => line.includes(file)),
      failures.join("\n"),
    );
  }
  t.false(failures.some((line) => line.includes("cluster")));
  t.is(lines.at(-2), "TEST_ENGINES=embedded: tests that need Kafka or Elasticsearch were left out (1 skipped).");
});

test("the exit code is 0 if all tests pass, and files given as arguments run alone", async (t) => {
  const { code, lines } = await run(t, ["passes", "mixed", "crashes"], ["test/passes.test.ts"]);
  t.is(lines.at(-1), "1 passed, 0 failed");
  t.is(code, 0);
  t.false(lines.includes("Failed:"));
});

test("the slowest files are listed, and long files run on request", async (t) => {
  const standard = await run(t, ["passes", "slow.long", "mixed"]);
  const slowest = standard.lines.slice(standard.lines.indexOf("The slowest files:") + 1).slice(0, 2);
  t.deepEqual(slowest.map((line) => line.replace(/^ +[\d.]+ s {2}/, "")).toSorted(), [
    "test/mixed.test.ts",
    "test/passes.test.ts",
  ]);
  t.is(standard.lines.at(-2), "Left to `make test-long`: 1 files (*.long.test.ts).");
  const long = await run(t, ["passes", "slow.long"], ["--long"]);
  t.is(long.lines.at(-1), "1 passed, 0 failed");
});

test("repetitions count each failure, and print the report of failed runs only", async (t) => {
  const { code, lines } = await run(t, ["passes", "mixed"], ["--repeat=2"]);
  t.is(lines.at(-1), "6 passed, 2 failed");
  t.is(code, 1);
  t.is(lines.filter((line) => /^Run [12] of 2: FAILED in [\d.]+ s$/.test(line)).length, 2);
  t.true(lines.includes("2 of 2 runs failed."));
  t.is(lines.filter((line) => /^ {2}2 × .* mixed › fails/.test(line)).length, 1, lines.join("\n"));
  const passed = await run(t, ["passes"], ["passes", "--repeat=2"]);
  t.is(passed.lines.at(-1), "2 passed, 0 failed");
  t.false(passed.lines.some((line) => line.includes("✔")));
  const wrong = await run(t, ["passes"], ["--repeat=often"]);
  t.is(wrong.code, 1);
  t.regex(wrong.stderr, /REPEAT is "often"; give a whole number of repetitions/);
});

test("a crash after the last test, a test that hangs and a file that does not end are failures", async (t) => {
  const crashed = await run(t, ["crashes-late"]);
  t.is(crashed.lines.at(-1), "1 passed, 1 failed");
  t.is(crashed.code, 1);
  const hung = await run(t, ["hangs", "lingers"], ["--timeout=20s"]);
  t.is(hung.lines.at(-1), "1 passed, 2 failed");
  t.is(hung.code, 1);
});

test("no tests at all is a failure", async (t) => {
  for (const [files, args] of [
    [[], []],
    [["passes"], ["test/other.test.ts"]],
    [["passes"], ["--match=nothing"]],
  ] as const) {
    const { code, lines } = await run(t, files, args);
    t.is(lines.at(-1), "0 passed, 1 failed");
    t.is(code, 1);
  }
});

test("unavailable engines fail the run, with instructions", async (t) => {
  const folder = temporaryFolder(t);
  const { code, lines, stderr } = await run(t, ["cluster"], [], {
    PATH: folder,
    JAVA_HOME: plantJdk(join(folder, "jdk"), "25"),
    ENGINES_JARS: join(folder, "jars"),
    ENGINES_WAY: "processes",
  });
  t.is(lines.at(-1), "0 passed, 1 failed");
  t.is(code, 1);
  t.regex(stderr, /`mvn` was not found: install it/);
  t.regex(stderr, /TEST_ENGINES=embedded runs the tests that need none/);
});

/** Runs `.ci/run` in a folder where `make` runs `script` with its target as `$1`. */
async function runCi(
  t: ExecutionContext,
  script: string,
): Promise<Outcome & { last: string | undefined; alike: number }> {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, ".ci"));
  copyFileSync(join(PROJECT, ".ci/run"), join(folder, ".ci/run"));
  plantProgram(join(folder, "bin"), "make", script);
  const env = { PATH: `${join(folder, "bin")}:${process.env["PATH"]}`, CI: "true" };
  const outcome = await runProgram("bash", [join(folder, ".ci/run")], { cwd: "/", env });
  const lines = outcome.stdout.trimEnd().split("\n");
  return {
    ...outcome,
    last: lines.at(-1),
    alike: lines.filter((line) => /^\d+ passed, \d+ failed$/.test(line)).length,
  };
}

test("continuous integration ends with one result of checks and tests together", async (t) => {
  for (const [script, result, code] of [
    ["case $1 in test) echo 3 passed, 0 failed;; test-long) echo 2 passed, 0 failed;; esac", "5 passed, 0 failed", 0],
    [
      "case $1 in test) echo 3 passed, 0 failed;; test-long) echo 2 passed, 1 failed; exit 2;; esac",
      "5 passed, 1 failed",
      1,
    ],
    ["case $1 in test) echo 3 passed, 0 failed;; esac", "3 passed, 1 failed", 1],
    ["case $1 in check) exit 2;; test*) echo 3 passed, 0 failed;; esac", "6 passed, 1 failed", 1],
    ["case $1 in test*) echo 3 passed, 2 failed; echo 'make: *** Error 1'; exit 2;; esac", "6 passed, 4 failed", 1],
    ["case $1 in check) exit 2;; test*) echo 3 passed, 2 failed; exit 2;; esac", "6 passed, 5 failed", 1],
    [
      "case $1 in test) echo npm ci failed; exit 2;; test-long) echo 1 passed, 0 failed;; esac",
      "1 passed, 1 failed",
      1,
    ],
    ["exit 0", "0 passed, 2 failed", 1],
    ["exit 2", "0 passed, 3 failed", 1],
  ] as const) {
    const outcome = await runCi(t, script);
    t.deepEqual([outcome.last, outcome.alike, outcome.code], [result, 1, code], script);
  }
});
