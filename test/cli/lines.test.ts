import { appendFileSync, closeSync, openSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import test, { type ExecutionContext } from "ava";

import { readLines } from "../../src/cli/ship/streams.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { fileLines } from "./shipped-lines.ts";

async function* chunks(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text, "latin1");
}

const SPLITS: readonly [string, string[], string[]][] = [
  ["whole lines", ["a\nb\n"], ["a", "b"]],
  ["a last line without its break", ["a\nb"], ["a", "b"]],
  ["a line across chunks", ["he", "ll", "o\nx"], ["hello", "x"]],
  ["carriage returns", ["a\r\nb\r\n"], ["a", "b"]],
  ["a character across chunks", ["\xc3", "\xa4\n"], ["ä"]],
  ["Latin-1", ["caf\xe9 ouvert\n"], ["café ouvert"]],
  ["bytes that are not UTF-8 beside some that are", ["\xc3\xa4\xe9 b\n"], ["ä\ufffd b"]],
  ["a byte order mark at the start", ["\xef\xbb", "\xbfa\n\xef\xbb\xbfb\n"], ["a", "\ufeffb"]],
  ["empty lines", ["\n\na\n"], ["", "", "a"]],
];
for (const [name, given, lines] of SPLITS) {
  test(`lines: ${name}`, async (t) => {
    t.deepEqual(await Array.fromAsync(readLines(chunks(...given))), lines);
  });
}

test("an endless line is cut at a megabyte", async (t) => {
  const lines = await Array.fromAsync(readLines(chunks("x".repeat(3_000_000), "\nnext\n")));
  t.deepEqual(
    lines.map((line) => line.length),
    [1024 * 1024, 4],
  );
});

test("reads the lines of a file", async (t) => {
  const file = join(temporaryFolder(t), "a.log");
  writeFileSync(file, "one\ntwo");
  t.deepEqual(await Array.fromAsync(fileLines([file], false, new AbortController().signal)), ["one", "two"]);
});

/** Follows a file of one line. */
function followed(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const file = join(folder, "a.log");
  writeFileSync(file, "one\n");
  const stop = new AbortController();
  const lines = fileLines([file], true, stop.signal);
  // An unclosed file handle ends the process when it is garbage-collected.
  t.teardown(async () => {
    stop.abort();
    await lines.return(undefined);
  });
  const next = async (): Promise<string | undefined> => (await lines.next()).value as string | undefined;
  return { folder, file, stop, lines, next };
}

test("following reads appended lines, a rotated file and a truncated one", async (t) => {
  const { folder, file, stop, lines, next } = followed(t);
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

test("lines still written to a rotated file precede those of the new one", async (t) => {
  const { folder, file, stop, next } = followed(t);
  const writer = openSync(file, "a");
  t.teardown(() => closeSync(writer));
  t.is(await next(), "one");
  const two = next();
  renameSync(file, join(folder, "a.log.1"));
  writeFileSync(file, "three\n");
  // Long enough for the rotation to be noticed several times.
  setTimeout(() => appendFileSync(writer, "two\n"), 1_000);
  t.is(await two, "two");
  t.is(await next(), "three");
  stop.abort();
});

/** Long enough for a check of which file is in place. */
const LOOK_MS = 600;

test("a file that is moved back is not read again", async (t) => {
  const { folder, file, stop, next } = followed(t);
  t.is(await next(), "one");
  const two = next();
  renameSync(file, join(folder, "b"));
  writeFileSync(file, "");
  await delay(LOOK_MS);
  renameSync(join(folder, "b"), file);
  // Longer than a replaced file is still read.
  await delay(2_500);
  appendFileSync(file, "two\n");
  t.is(await two, "two");
  stop.abort();
});

test("after its file is removed, the follower waits for a new one", async (t) => {
  const { folder, file, stop, lines, next } = followed(t);
  t.is(await next(), "one");
  const two = next();
  renameSync(file, join(folder, "b"));
  await delay(LOOK_MS);
  writeFileSync(file, "");
  await delay(LOOK_MS);
  rmSync(file);
  await delay(2_500);
  writeFileSync(file, "two\n");
  t.is(await two, "two");
  const end = lines.next();
  rmSync(file);
  stop.abort();
  t.true((await end).done);
});

test("a new file that is removed before the old one was read is waited for", async (t) => {
  const { folder, file, stop, next } = followed(t);
  t.is(await next(), "one");
  appendFileSync(file, "tw");
  const rest = next();
  renameSync(file, join(folder, "b"));
  writeFileSync(file, "");
  t.is(await rest, "tw");
  rmSync(file);
  const two = next();
  await delay(LOOK_MS);
  writeFileSync(file, "two\n");
  t.is(await two, "two");
  stop.abort();
});
