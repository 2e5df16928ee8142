import { setTimeout as delay } from "node:timers/promises";
import test from "ava";

import { frame, type FrameOptions, type Framing, PLAIN_LINES } from "../../src/cli/ship/framing.ts";
import { detectEncoding, LINE_MAX_BYTES } from "../../src/cli/ship/lines.ts";
import { readStreamRecords } from "../../src/cli/ship/streams.ts";

const DOCKER: Framing = { ...PLAIN_LINES, container: "docker" };
const CRI: Framing = { ...PLAIN_LINES, container: "cri" };
const TRACES: Framing = { ...PLAIN_LINES, start: /^\d{4}-/u };

function texts(bytes: Buffer, framing: Framing = PLAIN_LINES, options: Partial<FrameOptions> = {}) {
  const { records, consumed } = frame(bytes, framing, {
    encoding: detectEncoding(bytes, true) ?? "utf8",
    isFirst: true,
    isWithin: false,
    flush: "nothing",
    isHoleClosed: false,
    mostRecords: 1_000,
    ...options,
  });
  return { texts: records.map(({ text }) => text), rest: bytes.length - consumed };
}

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function streamed(bytes: Buffer, size: number): Promise<string[]> {
  const found: string[] = [];
  for await (const records of readStreamRecords(chunksOf(bytes, size), PLAIN_LINES))
    found.push(...records.map(({ text }) => text));
  return found;
}

test("a hole of zero bytes belongs to no line, and ends the line before it", async (t) => {
  const hole = Buffer.alloc(5_000);
  const after = Buffer.concat([hole, Buffer.from("one\ntwo\n")]);
  t.deepEqual(texts(after), { texts: ["one", "two"], rest: 0 });
  const within = Buffer.concat([Buffer.from("one\ntw"), hole, Buffer.from("three\n\0\0\nfour\0\n")]);
  t.deepEqual(texts(within), { texts: ["one", "tw", "three", "", "four"], rest: 0 });
  // Zero bytes at the end may yet be written over.
  const open = Buffer.concat([Buffer.from("one\ntw"), hole]);
  t.deepEqual(texts(open), { texts: ["one"], rest: hole.length + 2 });
  t.deepEqual(texts(open, PLAIN_LINES, { flush: "all" }), { texts: ["one", "tw"], rest: 0 });
  t.deepEqual(texts(open, PLAIN_LINES, { isHoleClosed: true }), { texts: ["one", "tw"], rest: 0 });
  const large = Buffer.concat([Buffer.alloc(LINE_MAX_BYTES * 3), Buffer.from("one\n")]);
  for (const size of [1_000, 1_000_000]) t.deepEqual(await streamed(large, size), ["one"]);
});

test("UTF-16 is decoded if the file begins with its byte order mark", async (t) => {
  const text = "\uFEFFGrüße ਊ\r\n二行\nlast";
  const little = Buffer.from(text, "utf16le");
  const big = Buffer.from(little).swap16();
  for (const bytes of [little, big]) {
    t.deepEqual(texts(bytes), { texts: ["Grüße ਊ", "二行"], rest: 8 });
    for (const size of [1, 7, 1_000]) t.deepEqual(await streamed(bytes, size), ["Grüße ਊ", "二行", "last"]);
    const hole = Buffer.concat([bytes.subarray(0, -8), Buffer.alloc(64), bytes.subarray(-8)]);
    t.deepEqual(await streamed(hole, 1_000), ["Grüße ਊ", "二行", "last"]);
  }
  const long = Buffer.from(`\uFEFF${"x".repeat(LINE_MAX_BYTES)}\nnext\n`, "utf16le");
  const [first, next] = await streamed(long, 100_000);
  t.is(first?.length, LINE_MAX_BYTES / 2 - 1);
  t.is(next, "next");
});

test("UTF-16 without a byte order mark is detected by its first characters", async (t) => {
  const little = Buffer.from("2026-11-27 Grüße ਊ\r\n二行\nlast", "utf16le");
  for (const bytes of [little, Buffer.from(little).swap16()]) {
    t.deepEqual(texts(bytes), { texts: ["2026-11-27 Grüße ਊ", "二行"], rest: 8 });
    for (const size of [1, 3, 7, 1_000])
      t.deepEqual(await streamed(bytes, size), ["2026-11-27 Grüße ਊ", "二行", "last"]);
  }
  for (const size of [1, 2, 1_000]) t.deepEqual(await streamed(Buffer.from("a\nb\n", "utf16le"), size), ["a", "b"]);
  for (const plain of ["", "a", "a\n", "a\0", "\0a\n", "äö\n", "a\0b\0cd\n"]) {
    t.is(detectEncoding(Buffer.from(plain), true), "utf8", JSON.stringify(plain));
  }
  t.is(detectEncoding(Buffer.from("a\n")), "utf8", "a line as it is typed is not delayed");
  t.is(detectEncoding(Buffer.from("a\0b\0")), null);
});

test("parts of Docker's lines are joined for each stream", (t) => {
  const line = (log: string, stream: string): string => `${JSON.stringify({ log, stream })}\n`;
  const parts = [
    line("begin ", "stdout"),
    line("an error\n", "stderr"),
    line("end\n", "stdout"),
    line("new", "stderr"),
  ];
  const bytes = Buffer.from(parts.join(""));
  t.deepEqual(texts(bytes, DOCKER), { texts: ["begin end", "an error"], rest: parts[3]!.length });
  // The position stays before a line that has no end, whatever other streams hold.
  const open = Buffer.from(parts.slice(0, 2).join(""));
  t.deepEqual(texts(open, DOCKER), { texts: [], rest: open.length });
  t.deepEqual(texts(open, DOCKER, { flush: "groups" }), { texts: ["begin ", "an error"], rest: 0 });
  const traces = [
    line("2026-1 a\n", "stderr"),
    line("2026-2 b\n", "stdout"),
    line(" at c\n", "stderr"),
    line(" at d\n", "stdout"),
  ];
  const framed = texts(Buffer.from(traces.join("")), { ...DOCKER, ...TRACES, container: "docker" }, { flush: "all" });
  t.deepEqual(framed.texts, ["2026-1 a\n at c", "2026-2 b\n at d"]);
});

test("parts of containerd's lines are joined for each stream, across lines of the other", (t) => {
  const at = "2026-11-20T10:00:00.123456789Z";
  const lines = [
    `${at} stdout P begin `,
    `${at} stderr F an error`,
    `${at} stdout P middle `,
    `${at} stdout F end`,
    `${at} stderr F`,
    `${at} stdout F:tag  two blanks`,
    `{"log":"of Docker\\n","stream":"stdout","time":"${at}"}`,
    "of no form",
  ];
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  const expected = ["begin middle end", "an error", "", " two blanks", "of Docker", "of no form"];
  t.deepEqual(texts(bytes, CRI), { texts: expected, rest: 0 });
  const open = Buffer.from(`${lines[0]}\n${lines[1]}\n`);
  t.deepEqual(texts(open, CRI), { texts: [], rest: open.length });
  const traces = ["stderr F 2026-1 a", "stdout P 2026-2 ", "stderr F  at c", "stdout F b", "stdout F  at d"];
  const framed = texts(
    Buffer.from(traces.map((line) => `${at} ${line}\n`).join("")),
    { ...CRI, start: TRACES.start },
    { flush: "all" },
  );
  t.deepEqual(framed.texts, ["2026-1 a\n at c", "2026-2 b\n at d"]);
});

test("a record of a stream ends when the stream has been silent", async (t) => {
  const [ended, pending] = [Promise.withResolvers<void>(), delay(100)];
  const stream = (async function* () {
    yield Buffer.from("2026-1 a\n at b\n");
    await ended.promise;
    yield Buffer.from("2026-2 d\n");
    // The stream is silent for less than the wait.
    await pending;
    yield Buffer.from(" at e\n");
  })();
  const found: string[] = [];
  const framing = { ...TRACES, wait_ms: 10 };
  for await (const records of readStreamRecords(stream, framing)) {
    found.push(...records.map(({ text }) => text));
    ended.resolve();
    framing.wait_ms = 600_000;
  }
  t.deepEqual(found, ["2026-1 a\n at b", "2026-2 d\n at e"]);
});
