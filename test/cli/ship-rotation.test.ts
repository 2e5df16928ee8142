import {
  appendFileSync,
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import test, { type ExecutionContext } from "ava";

import { readFiles } from "../../src/cli/ship/files.ts";
import { type Framing, PLAIN_LINES } from "../../src/cli/ship/framing.ts";
import { ShipState } from "../../src/cli/ship/state.ts";
import { WordScan } from "../../src/cli/ship/word-scan.ts";
import { RotatingLog, SCHEMES } from "../support/rotating-log.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

type ReadOptions = { readonly followed?: AbortSignal; readonly framing?: Framing };
type Read = { readonly lines: string[]; readonly faults: string[] };

/** A shipper with positions, without a service. */
class Reader {
  readonly state: ShipState;
  readonly lines: string[] = [];
  readonly faults: string[] = [];

  constructor(t: ExecutionContext) {
    this.state = ShipState.open(null, "a test");
    t.teardown(() => this.state[Symbol.dispose]());
  }

  /** Reads files as one run of `loggia ship` does. */
  async run(words: readonly string[], { followed, framing = PLAIN_LINES }: ReadOptions = {}): Promise<Read> {
    const files = readFiles(words, {
      isFollowed: followed !== undefined,
      linksTo: [],
      framing,
      state: this.state,
      signal: followed ?? new AbortController().signal,
      unreadable: (path, error) => void this.faults.push(`${basename(path)}: ${error.message}`),
      resumed: () => {},
    });
    for await (const { records, position } of files) {
      this.lines.push(...records.map(({ text }) => text));
      this.state.storePositions([position]);
    }
    return this;
  }
}

function logsFolder(t: ExecutionContext): string {
  const folder = join(temporaryFolder(t), "logs");
  mkdirSync(folder);
  return folder;
}

/** What a command may name: the log, a glob that matches it and perhaps generations, its folder. */
const WORDS = { file: "app.log", glob: "*.log", folder: "" } as const;

for (const scheme of SCHEMES)
  for (const [kind, word] of Object.entries(WORDS)) {
    test(`each line is read once, in order, with ${scheme} and a ${kind} named, over runs`, async (t) => {
      const logs = logsFolder(t);
      const reader = new Reader(t);
      let now_s = Math.floor(Date.now() / 1_000) - 1_000;
      const log = new RotatingLog(logs, scheme, () => (now_s += 1));
      const words = [join(logs, word)];
      let count = 0;
      // The first run comes before the first rotation: it reads a named file alone.
      for (const rotations of [0, 1, 0, 2, 1, 3, 0, 1]) {
        for (let i = 0; i <= rotations; i += 1) {
          if (i > 0) log.rotate();
          for (let line = 0; line < 3; line += 1) log.write(`line ${count++}\n`);
        }
        await reader.run(words);
      }
      t.deepEqual(
        reader.lines,
        Array.from({ length: count }, (_, i) => `line ${i}`),
      );
    });
  }

test("files beside a named one that can't be read are reported only if they may be its generations", async (t) => {
  const logs = logsFolder(t);
  const reader = new Reader(t);
  const path = join(logs, "app.log");
  writeFileSync(path, "one\n");
  for (const name of ["other.gz", "other.log.gz"]) writeFileSync(join(logs, name), "no archive\n");
  await reader.run([path]);
  appendFileSync(path, "two\n");
  await reader.run([path]);
  t.deepEqual([reader.lines, reader.faults], [["one", "two"], []]);
  writeFileSync(join(logs, "app.log.1.gz"), "no archive\n");
  await reader.run([path]);
  t.is(reader.faults.length, 1);
  t.regex(reader.faults[0]!, /^app\.log\.1\.gz: its name is that of an archive/);
});

/** Calls functions once: before files are listed the next time, and before those are opened. */
function atNextListing(t: ExecutionContext, { before, after }: { before?: () => void; after?: () => void }): void {
  const { prototype } = WordScan;
  // oxlint-disable-next-line unbound-method
  const { run } = prototype;
  t.teardown(() => (prototype.run = run));
  prototype.run = async function* () {
    prototype.run = run;
    before?.();
    yield* run.call(this);
    after?.();
  };
}

test.serial("an archive is read once if another file has its file's inode and is renamed meanwhile", async (t) => {
  const logs = logsFolder(t);
  const reader = new Reader(t);
  const [log, later] = [join(logs, "a.log"), join(logs, "a.2.log")];
  writeFileSync(log, "one\ntwo\n");
  await reader.run([logs]);
  writeFileSync(join(logs, "a.1.log.gz"), gzipSync("one\ntwo\n"));
  writeFileSync(log, "three\n");
  atNextListing(t, { after: () => renameSync(log, later) });
  await reader.run([logs]);
  t.deepEqual(reader.lines, ["one", "two", "three"]);
});

for (const moment of ["before the files are listed", "meanwhile"]) {
  test.serial(`a followed file that is copied, and truncated ${moment}, is read once`, async (t) => {
    const logs = logsFolder(t);
    const path = join(logs, "a.log");
    const reader = new Reader(t);
    const stop = new AbortController();
    t.teardown(() => stop.abort());
    writeFileSync(path, "1\n2\n");
    const running = reader.run([logs], { followed: stop.signal });
    await until(() => reader.lines.length === 2, { what: "the first lines" });
    const copy = (): void => copyFileSync(path, join(logs, "a.log.1"));
    const truncate = (): void => writeFileSync(path, "3\n");
    atNextListing(t, {
      before: () => {
        appendFileSync(path, "unread\n");
        copy();
        if (moment !== "meanwhile") truncate();
      },
      after: () => {
        if (moment === "meanwhile") truncate();
      },
    });
    await until(() => reader.lines.includes("3"), { what: "the line after the file was truncated" });
    writeFileSync(join(logs, "b.log"), "other\n");
    await until(() => reader.lines.includes("other"), { what: "another file" });
    stop.abort();
    await running;
    t.deepEqual(reader.lines.toSorted(), ["1", "2", "3", "other", "unread"]);
  });
}

test("a file beside another whose name looks like an earlier generation is read, and followed", async (t) => {
  const logs = logsFolder(t);
  const write = (name: string, text: string): void => appendFileSync(join(logs, name), text);
  write("redis.log", "a\n");
  write("redis-6379.log", "b\n");
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const reader = new Reader(t);
  const running = reader.run([join(logs, "*.log")], { followed: stop.signal });
  await until(() => reader.lines.length === 2, { what: "both files" });
  write("redis-6379.log", "c\n");
  write("redis-2.log", "d\n");
  await until(() => reader.lines.length === 4, { what: "appended lines and a new file" });
  stop.abort();
  await running;
  t.deepEqual(reader.lines.toSorted(), ["a", "b", "c", "d"]);
  // A named file is read alone, also after it was rotated.
  const named = new Reader(t);
  await named.run([join(logs, "redis.log")]);
  write("redis-6379.log", "e\n");
  write("redis.log", "f\n");
  renameSync(join(logs, "redis.log"), join(logs, "redis.1.log"));
  write("redis.log", "g\n");
  await named.run([join(logs, "redis.log")]);
  t.deepEqual(named.lines, ["a", "f", "g"]);
});

test("a file is read once under all its names, and files of equal content are read each", async (t) => {
  const logs = logsFolder(t);
  const path = (name: string): string => join(logs, name);
  writeFileSync(path("a.log"), "started\n");
  writeFileSync(path("b.log"), "started\n");
  linkSync(path("a.log"), path("hard.log"));
  symlinkSync("a.log", path("soft.log"));
  writeFileSync(path("a.log.gz"), gzipSync("started\n"));
  const reader = new Reader(t);
  const words = [path("soft.log"), path("a.log"), logs, path("*.log")];
  await reader.run(words);
  t.deepEqual(reader.lines, ["started", "started"]);
  // The compressed file continues the one that it replaces.
  rmSync(path("b.log"));
  writeFileSync(path("b.log.1.gz"), gzipSync("started\nstopped\n"));
  await reader.run(words);
  t.deepEqual(reader.lines, ["started", "started", "stopped"]);
  t.deepEqual(reader.faults, []);
});

test("a file that is written anew is read, also if it begins as before", async (t) => {
  const path = join(logsFolder(t), "job.log");
  const reader = new Reader(t);
  const banner = `${"=".repeat(1_100)}\n`;
  for (const line of ["the first night: 12 files", "the second: 9", "the third night: 7 files", "4th"]) {
    writeFileSync(path, `${banner}${line}\n`);
    await reader.run([path]);
    t.is(reader.lines.at(-1), line);
  }
  t.is(reader.lines.length, 8);
});

test("a copy is not read if more was read of its file before that was truncated", async (t) => {
  const logs = logsFolder(t);
  const path = join(logs, "a.log");
  const reader = new Reader(t);
  const lines = Array.from({ length: 60 }, (_, i) => `line ${i} ${"x".repeat(40)}`);
  const write = (from: number, to: number): void =>
    appendFileSync(
      path,
      lines
        .slice(from, to)
        .map((line) => `${line}\n`)
        .join(""),
    );
  for (const at of [0, 25, 50]) {
    write(at, Math.min(at + 25, 58));
    if (at === 50) copyFileSync(path, join(logs, "a.log.1"));
    if (at === 50) write(58, 59);
    await reader.run([path]);
  }
  truncateSync(path);
  write(59, 60);
  await reader.run([logs]);
  t.deepEqual(reader.lines, lines);
});

test("followed files that are copied, truncated and compressed are read once", async (t) => {
  const logs = logsFolder(t);
  const path = (name: string): string => join(logs, name);
  const reader = new Reader(t);
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  writeFileSync(path("a.log"), "1\n2\n");
  const running = reader.run([logs], { followed: stop.signal });
  await until(() => reader.lines.length === 2, { what: "the first lines" });
  // The copy is there for a while before the file is truncated.
  writeFileSync(path("a.log.1"), "1\n");
  await delay(1_500);
  writeFileSync(path("a.log.1"), "1\n2\n");
  truncateSync(path("a.log"));
  appendFileSync(path("a.log"), "3\n");
  await until(() => reader.lines.length === 3, { what: "the line after the file was truncated" });
  // An archive is written slowly, and the file removed once it is whole.
  const packed = gzipSync("1\n2\n");
  writeFileSync(path("a.log.1.gz"), packed.subarray(0, 15));
  await delay(1_500);
  writeFileSync(path("a.log.1.gz"), packed);
  rmSync(path("a.log.1"));
  writeFileSync(path("b.log"), "other\n");
  await until(() => reader.lines.length === 4, { what: "another file" });
  await delay(1_500);
  stop.abort();
  await running;
  t.deepEqual(reader.lines, ["1", "2", "3", "other"]);
  t.deepEqual(reader.faults, []);
});

test("files of one log that are replaced at once are read at once", async (t) => {
  const logs = logsFolder(t);
  const log = new RotatingLog(logs, "numbers");
  const reader = new Reader(t);
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  log.write("0\n");
  const running = reader.run([log.path], { followed: stop.signal });
  await until(() => reader.lines.length === 1, { what: "the first line" });
  for (let n = 1; n <= 12; n += 1) {
    log.rotate();
    log.write(`${n}\n`);
  }
  const started_ms = performance.now();
  await until(() => reader.lines.length === 13, { what: "the lines of all generations" });
  // Each is read for another 2 s, one while the other is.
  t.true(performance.now() - started_ms < 15_000);
  stop.abort();
  await running;
  t.deepEqual(reader.lines.map(Number), Array.from(reader.lines.keys()));
});

test("a trace that is written slowly is one record, also after a pause and in a replaced file", async (t) => {
  const logs = logsFolder(t);
  const path = join(logs, "a.log");
  const reader = new Reader(t);
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const framing = { ...PLAIN_LINES, start: /^\d{4}-/u, wait_ms: 1_000 };
  writeFileSync(path, "2026-1 start\n");
  const running = reader.run([path], { followed: stop.signal, framing });
  await until(() => reader.lines.length === 1, { what: "the first record" });
  const slowly = async (text: string): Promise<void> => {
    appendFileSync(path, text);
    await delay(600);
  };
  await slowly("2026-2 a\n  at 1\n");
  await slowly("  at 2\n  a");
  await slowly("t 3\nCaused by: x\n");
  await until(() => reader.lines.length === 2, { what: "the trace" });
  await slowly("2026-3 b\n  at 1\n");
  renameSync(path, join(logs, "a.log.1"));
  writeFileSync(path, "2026-4 c\n");
  for (const text of ["  at 2\n", "  at 3\n", "  at 4\n"]) {
    appendFileSync(join(logs, "a.log.1"), text);
    await delay(750);
  }
  await until(() => reader.lines.length === 4, { what: "the records of both files" });
  stop.abort();
  await running;
  t.deepEqual(reader.lines, [
    "2026-1 start",
    "2026-2 a\n  at 1\n  at 2\n  at 3\nCaused by: x",
    "2026-3 b\n  at 1\n  at 2\n  at 3\n  at 4",
    "2026-4 c",
  ]);
});

test("a writer that goes on at its old offset after its file was truncated leaves a hole, not events", async (t) => {
  const logs = logsFolder(t);
  const path = join(logs, "a.log");
  const reader = new Reader(t);
  const file = openSync(path, "w");
  t.teardown(() => closeSync(file));
  writeSync(file, "1\n2\n");
  await reader.run([path]);
  writeSync(file, "3\n");
  copyFileSync(path, join(logs, "a.log.1"));
  truncateSync(path);
  const size_bytes = 3_000_000;
  writeSync(file, "4\n", size_bytes);
  await reader.run([path]);
  t.deepEqual(reader.lines, ["1", "2", "3", "4"]);
  writeSync(file, "5\n", size_bytes + 2);
  await reader.run([path]);
  t.deepEqual(reader.lines, ["1", "2", "3", "4", "5"]);
});
