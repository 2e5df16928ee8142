import test, { type ExecutionContext } from "ava";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";

import { ArchiveError } from "../../src/cli/archive-error.ts";
import { refuseArchive, unpack } from "../../src/cli/archives.ts";
import { readLines } from "../../src/cli/ship/streams.ts";
import { temporaryFolder } from "../support/temporary.ts";

const PACKERS = { gzip: gzipSync, zstd: zstdCompressSync } as const;
const FORMATS = ["gzip", "zstd"] as const;

/** Yields the bytes in chunks of this size, and counts the chunks read. */
function chunksOf(bytes: Buffer, size: number) {
  const asked = { chunks: 0, isClosed: false };
  const chunks = (async function* () {
    try {
      for (let at = 0; at < bytes.length; at += size) {
        asked.chunks += 1;
        yield bytes.subarray(at, at + size);
      }
    } finally {
      asked.isClosed = true;
    }
  })();
  return { chunks, asked };
}

/** Returns the lines of a stream and the error that ended it early. */
async function read(bytes: Buffer, { size = 7, name = "" } = {}): Promise<{ lines: string[]; fault: string | null }> {
  const lines: string[] = [];
  try {
    for await (const line of readLines(unpack(chunksOf(bytes, size).chunks, name))) lines.push(line);
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    return { lines, fault: error.message };
  }
  return { lines, fault: null };
}

function fileOf(t: ExecutionContext, bytes: string | Buffer): string {
  const path = join(temporaryFolder(t), "a.log");
  writeFileSync(path, bytes);
  return path;
}

const TEXT = Array.from({ length: 20_000 }, (_, n) => `line ${n} of ${(n * 7919) % 104729}`);

for (const format of FORMATS) {
  const pack = (text: string): Buffer => PACKERS[format](text);

  for (const size of [1, 7, 1_000_000]) {
    test(`${format} of several members is read completely, in chunks of ${size}`, async (t) => {
      const bytes = Buffer.concat([pack("one\ntw"), pack("o\n"), pack("three")]);
      t.deepEqual(await read(bytes, { size }), { lines: ["one", "two", "three"], fault: null });
    });
  }

  test(`truncated ${format} is reported after all lines before the end`, async (t) => {
    const whole = pack(`${TEXT.join("\n")}\n`);
    const first = pack("first\n");
    const cut = await read(Buffer.concat([first, whole.subarray(0, whole.length - 20)]), { size: 1_000 });
    t.is(cut.fault, `the ${format} archive is truncated`);
    t.deepEqual(cut.lines, ["first", ...TEXT].slice(0, cut.lines.length));
    t.true(cut.lines.length > 1);
    const members = await read(Buffer.concat([whole, first.subarray(0, 6)]), { size: 1_000_000 });
    t.deepEqual(members, { lines: TEXT, fault: `the ${format} archive is truncated` });
  });

  test(`damaged ${format} is reported`, async (t) => {
    const bytes = Buffer.from(pack(TEXT.join("\n")));
    for (let at = bytes.length >> 1; at < (bytes.length >> 1) + 40; at += 1) bytes[at]! ^= 0x55;
    t.regex((await read(bytes, { size: 1_000 })).fault ?? "", new RegExp(`^the ${format} archive is damaged: `));
  });

  for (const size of [1, 1_000_000]) {
    test(`bytes after the end of ${format} are reported after all lines before them, in chunks of ${size}`, async (t) => {
      for (const lines of [TEXT.slice(0, 2), TEXT.slice(0, 5_000)]) {
        const bytes = Buffer.concat([pack(`${lines.join("\n")}\n`), Buffer.from("no archive")]);
        const fault = `the ${format} archive is damaged: 10 bytes after its end are not ${format}`;
        t.deepEqual(await read(bytes, { size }), { lines, fault });
      }
    });
  }

  test(`${format} that expands greatly is read piece by piece, and only as far as requested`, async (t) => {
    const one = PACKERS[format](Buffer.alloc(1_000_000, `${"x".repeat(99)}\n`));
    const { chunks, asked } = chunksOf(Buffer.concat(Array.from({ length: 2_000 }, () => one)), one.length);
    const before_bytes = process.memoryUsage().arrayBuffers;
    let most_bytes = 0;
    let count = 0;
    for await (const _ of readLines(unpack(chunks))) {
      count += 1;
      if (count % 10_000 === 0) most_bytes = Math.max(most_bytes, process.memoryUsage().arrayBuffers - before_bytes);
      if (count === 200_000) break;
    }
    // 20 MB of 2 GB were read, which is 20 chunks of 2,000.
    t.true(asked.chunks < 1_000, `${asked.chunks} chunks`);
    t.true(asked.isClosed);
    t.true(most_bytes < 200_000_000, `${most_bytes} bytes`);
  });

  test(`${format} cannot be followed`, async (t) => {
    await t.throwsAsync(refuseArchive(fileOf(t, pack("one\n"))), { instanceOf: ArchiveError, message: /--follow/ });
  });
}

test("zero bytes around members of gzip are padding, and what they hide is reported", async (t) => {
  const pack = (text: string): Buffer => gzipSync(text);
  for (const size of [1, 7, 1_000_000]) {
    const padded = Buffer.concat([pack("one\n"), Buffer.alloc(9), pack("two\n"), Buffer.alloc(2_000)]);
    t.deepEqual(await read(padded, { size }), { lines: ["one", "two"], fault: null });
    const hidden = Buffer.concat([pack("one\n"), Buffer.alloc(9), Buffer.from("two\n")]);
    const fault = "the gzip archive is damaged: 4 bytes after its end are not gzip";
    t.deepEqual(await read(hidden, { size }), { lines: ["one"], fault });
  }
});

test("gzip is read whatever its header holds, and its checksum is verified", async (t) => {
  const plain = gzipSync("one\n");
  const extra = Buffer.from([3, 0, 1, 2, 3]);
  const header = Buffer.concat([plain.subarray(0, 10), extra, Buffer.from("name\0comment\0"), Buffer.from([1, 2])]);
  header[3] = 2 + 4 + 8 + 16;
  for (const size of [1, 1_000]) {
    const read_lines = await read(Buffer.concat([header, plain.subarray(10)]), { size });
    t.deepEqual(read_lines, { lines: ["one"], fault: null });
  }
  const wrong = Buffer.from(plain);
  wrong[wrong.length - 8]! ^= 1;
  t.deepEqual(await read(wrong), { lines: ["one"], fault: "the gzip archive is damaged: its checksum is wrong" });
});

test("UTF-32 is reported, with and without a byte order mark", async (t) => {
  const wide = (text: string, isBig: boolean): Buffer => {
    const bytes = Buffer.alloc(text.length * 4);
    for (const [i, unit] of [...text].entries())
      bytes[isBig ? "writeUInt32BE" : "writeUInt32LE"](unit.codePointAt(0)!, 4 * i);
    return bytes;
  };
  for (const text of ["\uFEFFone\n", "one\ntwo\n"]) {
    for (const isBig of [false, true]) {
      const { lines, fault } = await read(wide(text, isBig), { size: 3 });
      t.deepEqual(lines, []);
      t.regex(fault ?? "", /^it is UTF-32, which is not supported; convert it: iconv/);
      await t.throwsAsync(refuseArchive(fileOf(t, wide(text, isBig))), { message: /UTF-32/ });
    }
  }
});

test("a file that is not an archive is read as it is, also if it starts like one", async (t) => {
  for (const text of ["", "P", "(", "PK", "BZh is a word", "\u001f", "Query: P*M", "plain\nlines\n"]) {
    const { lines, fault } = await read(Buffer.from(text), { size: 1 });
    t.is(fault, null, text);
    t.is(lines.join("\n"), text.replace(/\n$/, ""));
  }
  await t.notThrowsAsync(refuseArchive(fileOf(t, "P")));
});

test("the first lines of an open stream are returned at once", async (t) => {
  const never = new Promise<never>(() => {});
  const lines = readLines(
    unpack(
      (async function* () {
        yield Buffer.from("P\n");
        await never;
      })(),
    ),
  );
  t.deepEqual(await lines.next(), { done: false, value: "P" });
});

test("archives of other formats, and names that suggest one, are reported", async (t) => {
  const other = (hex: string) => read(Buffer.concat([Buffer.from(hex, "hex"), Buffer.alloc(50)]));
  t.regex((await other("fd377a585a00")).fault ?? "", /^it is a xz archive/);
  t.regex((await other("425a683931415926")).fault ?? "", /^it is a bzip2 archive/);
  t.regex((await other("504b0304")).fault ?? "", /^it is a zip archive/);
  t.deepEqual(await read(Buffer.from("text\n"), { name: "a.log.gz" }), {
    lines: [],
    fault: "its name is that of an archive, but it is not one",
  });
  t.deepEqual(await read(zstdCompressSync("one\n"), { name: "a.log.gz" }), { lines: ["one"], fault: null });
});
