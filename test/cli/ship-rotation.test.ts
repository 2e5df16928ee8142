import {
  appendFileSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import test, { type ExecutionContext } from "ava";

import { readFiles } from "../../src/cli/ship/files.ts";
import { type Framing, PLAIN_LINES } from "../../src/cli/ship/framing.ts";
import { ShipState } from "../../src/cli/ship/state.ts";
import { RotatingLog, SCHEMES } from "../support/rotating-log.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

type ReadOptions = { readonly followed?: AbortSignal; readonly framing?: Framing };
type Read = { readonly lines: string[]; readonly faults: string[] };

/** A shipper with positions, without a service. */
class Reader {
  readonly #state: ShipState;
  readonly lines: string[] = [];
  readonly faults: string[] = [];

  constructor(t: ExecutionContext) {
    this.#state = ShipState.open(null, "a test");
    t.teardown(() => this.#state[Symbol.dispose]());
  }

  /** Reads files as one run of `loggia ship` does. */
  async run(words: readonly string[], { followed, framing = PLAIN_LINES }: ReadOptions = {}): Promise<Read> {
    const files = readFiles(words, {
      isFollowed: followed !== undefined,
      linksTo: [],
      framing,
      state: this.#state,
      signal: followed ?? new AbortController().signal,
      unreadable: (path, error) => void this.faults.push(`${basename(path)}: ${error.message}`),
      resumed: () => {},
    });
    for await (const { records, position } of files) {
      this.lines.push(...records.map(({ text }) => text));
      this.#state.storePositions([position]);
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

test("a file beside another whose name looks like an earlier generation is read, and followed", async (t) => {
  const logs = logsFolder(t);
  const write = (name: string, text: string): void => appendFileSync(join(logs, name), text);
  write("redis.log", "a\n");
  write("redis-6379.log", "b\n");
  const stop = new AbortController();
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

test("followed files that are copied, truncated and compressed are read once", async (t) => {
  const logs = logsFolder(t);
  const path = (name: string): string => join(logs, name);
  const reader = new Reader(t);
  const stop = new AbortController();
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
