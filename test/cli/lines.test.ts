import { appendFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";

import { followFile, readFileLines, readLines } from "../../src/cli/lines.ts";
import { temporaryFolder } from "../support/temporary.ts";

async function* chunks(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text, "latin1");
}

const SPLITS: readonly [string, string[], string[]][] = [
  ["whole lines", ["a\nb\n"], ["a", "b"]],
  ["a last line without its break", ["a\nb"], ["a", "b"]],
  ["a line across chunks", ["he", "ll", "o\nx"], ["hello", "x"]],
  ["carriage returns", ["a\r\nb\r\n"], ["a", "b"]],
  ["a character across chunks", ["\xc3", "\xa4\n"], ["ä"]],
  ["bytes that are not UTF-8", ["\xff\n"], ["\ufffd"]],
  ["empty lines", ["\n\na\n"], ["", "", "a"]],
];
for (const [name, given, lines] of SPLITS) {
  test(`lines: ${name}`, async (t) => {
    t.deepEqual(await Array.fromAsync(readLines(chunks(...given))), lines);
  });
}

test("a line without end is cut at a megabyte", async (t) => {
  const lines = await Array.fromAsync(readLines(chunks("x".repeat(3_000_000), "\nnext\n")));
  t.deepEqual(
    lines.map((line) => line.length),
    [1024 * 1024, 4],
  );
});

test("the lines of a file", async (t) => {
  const file = join(temporaryFolder(t), "a.log");
  writeFileSync(file, "one\ntwo");
  t.deepEqual(await Array.fromAsync(readFileLines(file)), ["one", "two"]);
});

test("following sees what is appended, a rotated file and a truncated one", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "a.log");
  writeFileSync(file, "one\n");
  const stop = new AbortController();
  const lines = followFile(file, stop.signal);
  const next = async (): Promise<string | undefined> => (await lines.next()).value as string | undefined;
  t.is(await next(), "one");
  appendFileSync(file, "tw");
  const two = next();
  appendFileSync(file, "o\n");
  t.is(await two, "two");
  renameSync(file, join(folder, "a.log.1"));
  writeFileSync(file, "three\n");
  t.is(await next(), "three");
  const four = next();
  truncateSync(file);
  appendFileSync(file, "4\n");
  t.is(await four, "4");
  const end = lines.next();
  stop.abort();
  t.true((await end).done);
});
