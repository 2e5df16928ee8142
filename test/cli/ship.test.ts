import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import test, { type ExecutionContext } from "ava";

import { get, KEY, LOG, type Service, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

/** What a service that is slow, as on a busy machine, makes the command say besides. */
const SLOW = /^loggia: (?:http\S+ takes (?:no posts: it does not answer.*|posts again)|posted \d+, .*\/s)\n/gm;

type Run = { readonly code: number | null; readonly out: string; readonly err: string };

type Input = {
  readonly input?: string | Buffer;
  readonly stopWhen?: () => Promise<unknown>;
  readonly keepsNotes?: boolean;
};

/** Each run has positions of its own: files of other tests may have had the same inode and the same lines. */
const STATE = temporaryFolder({ teardown: (remove) => test.after.always(remove) });

function run(words: readonly string[], { input, stopWhen, keepsNotes = false }: Input = {}): Promise<Run> {
  const env = { ...process.env, LOGGIA_KEY: KEY, XDG_STATE_HOME: mkdtempSync(join(STATE, "run-")) };
  const child = spawn(process.execPath, [LOGGIA, ...words], { env });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  // A command that gives up reads no further.
  child.stdin.on("error", () => {}).end(input ?? "");
  void stopWhen?.().finally(() => child.kill("SIGINT"));
  return new Promise((resolve) =>
    child.on("close", (code) => resolve({ code, out, err: keepsNotes ? err : err.replaceAll(SLOW, "") })),
  );
}

/** The words of a command that posts to the tests' log. */
function shipTo(url: string, ...more: string[]): string[] {
  return ["ship", "--url", url, "--log", LOG, ...more];
}

type Row = { text: string; tags: string[]; source: string; user: string; value: number | null; data: boolean };

async function rows(service: Service, count: number): Promise<Row[]> {
  return until(
    async () => {
      const { body } = await get(service, `/1/logs/${LOG}/events?pagesize=500`);
      return (body as Row[]).length >= count ? (body as Row[]) : null;
    },
    { what: `${count} events` },
  );
}

function file(t: ExecutionContext, content: string | Buffer): string {
  const path = join(temporaryFolder(t), "a.log");
  writeFileSync(path, content);
  return path;
}

test("each line of the files becomes an event, with the fields of the options", async (t) => {
  const service = await serviceOf(t, "embedded");
  const path = file(t, "one\n\ntwo\r\nthree");
  const words = shipTo(service.postUrl, "--tags", "a b", "--source", "box", "--user", "ann", path);
  const { code, out } = await run(words);
  t.is(out, "posted 3, failed 0, retried 0\n");
  t.is(code, 0);
  const found = await rows(service, 3);
  t.deepEqual(found.map((row) => row.text).toSorted(), ["one", "three", "two"]);
  for (const row of found) t.like(row, { tags: ["a", "b"], source: "box", user: "ann" });
});

test("standard input, and a pattern whose groups become fields", async (t) => {
  const service = await serviceOf(t, "embedded");
  const pattern = String.raw`^(?<source>\w+) took (?<value>[\d.]+) ms: (?<text>.*)$`;
  const { code } = await run(shipTo(service.postUrl, "--pattern", pattern), {
    input: "api took 12.5 ms: GET /\nanother line\n",
  });
  t.is(code, 0);
  const [first, second] = (await rows(service, 2)).toSorted((a, b) => (a.text < b.text ? -1 : 1));
  t.like(first, { text: "GET /", source: "api", value: 12.5 });
  t.like(second, { text: "another line", source: "", value: null });
});

test("what a pattern names and no field claims becomes an attribute", async (t) => {
  const service = await serviceOf(t, "embedded");
  const pattern = String.raw`^(?<method>\w+) (?<path>\S+) (?<status>\d+)(?<rest>.*)$`;
  const { code } = await run(shipTo(service.postUrl, "--pattern", pattern), { input: "GET /a 500\n" });
  t.is(code, 0);
  t.deepEqual(await attributesOf(service, 1), [["GET /a 500", { method: "GET", path: "/a", status: "500" }]]);
});

test("lines of JSON become events with attributes, and other lines are posted as they are", async (t) => {
  const service = await serviceOf(t, "embedded");
  const lines = [
    '{"level":30,"time":1308491673911,"msg":"pino","req":{"method":"GET","headers":{"host":"x"}},"codes":[1,"a"]}',
    '{"message":"odd","user":{"id":7},"tags":[1],"value":"many","source":"web","geo":{"lat":1,"lon":2},"list":[{"a":1}]}',
    '{"text":"own","tags":["a","b"],"value":1.5,"__proto__":"p","none":null}',
    "no JSON",
    '{"a":1}',
    '{"text":"exported","source":"web","attributes":{"a.b":1,"source":"x","n":2},"n":1}',
  ];
  const { code, out } = await run(shipTo(service.postUrl, "--json"), { input: lines.join("\n") });
  t.is(out, "posted 6, failed 0, retried 0\n");
  t.is(code, 0);
  t.deepEqual(await attributesOf(service, 6), [
    ["exported", { "a.b": 1, "attributes.n": 2, n: 1, source: "x" }],
    ["no JSON", {}],
    ["odd", { list: '[{"a":1}]', tags: [1], "user.id": 7, value: "many" }],
    ["own", JSON.parse('{"__proto__":"p"}')],
    ["pino", { codes: [1, "a"], level: 30, "req.headers.host": "x", "req.method": "GET" }],
    ['{"a":1}', { a: 1 }],
  ]);
  const odd = (await rows(service, 6)).find(({ text }) => text === "odd");
  t.like(odd, { source: "web", user: "", value: null });
  const none = await run(shipTo(service.postUrl, "--json"), { input: "a\nb\n" });
  t.is(none.code, 1);
  t.is(none.err, "loggia: --json found no JSON object in 2 lines; whole lines become texts\n");
});

test("of a line of JSON with more than an event may have, what fits becomes attributes, and the line data", async (t) => {
  const service = await serviceOf(t, "embedded");
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`name${i}`, i]));
  const lines = [
    { msg: "many", ...many },
    { msg: "long", long: "x".repeat(5_000), ["n".repeat(201)]: 1, "": 1 },
    { msg: "large", ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`a${i}`, "ä".repeat(2_000)])) },
  ].map((line) => JSON.stringify(line));
  lines.push(`{"msg":"deep","a":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`);
  const { out } = await run(shipTo(service.postUrl, "--json"), { input: lines.join("\n") });
  t.is(out, "posted 4, failed 0, retried 0\n");
  const found = new Map(await attributesOf(service, 4));
  t.is(Object.keys(found.get("many")!).length, 256);
  t.deepEqual(found.get("long"), { long: "x".repeat(4_096) });
  t.is(Object.keys(found.get("large")!).length, 8);
  t.true((await rows(service, 4)).filter(({ text }) => text !== "deep").every(({ data }) => data));
});

/** The attributes of the events of a log, by text and sorted by it. */
async function attributesOf(service: Service, count: number): Promise<[string, Record<string, unknown>][]> {
  await rows(service, count);
  const { body } = await get(service, `/1/logs/${LOG}/events?attributes=true`);
  return (body as { text: string; attributes: Record<string, unknown> }[])
    .map(({ text, attributes }): [string, Record<string, unknown>] => [text, attributes])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

test("a line over the limit is posted cut, and whole as data", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { code } = await run(shipTo(service.postUrl), { input: `${"ä".repeat(600)}\n` });
  t.is(code, 0);
  const [row] = await rows(service, 1);
  t.is(row?.text, "ä".repeat(500));
  t.true(row?.data);
});

test("of a line too long for data as well, data holds what it may", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { out } = await run(shipTo(service.postUrl), { input: `${"ä".repeat(6_000)}\n` });
  t.is(out, "posted 1, failed 0, retried 0\n");
  const [row] = (await rows(service, 1)) as (Row & { id: string })[];
  t.is((await get(service, `/1/logs/${LOG}/events/${row!.id}/data`)).body, "ä".repeat(5_120));
});

test("a file that can't be read is told, and the lines of the others are posted", async (t) => {
  const service = await serviceOf(t, "embedded");
  const path = file(t, "one\ntwo\n");
  const folder = temporaryFolder(t);
  const words = shipTo(service.postUrl, path, "/nowhere/a.log", folder, file(t, "three\n"));
  const { code, out, err } = await run(words);
  t.is(out, "posted 3, failed 0, retried 0\n");
  t.is(code, 1);
  t.regex(
    err,
    /^loggia: \/nowhere\/a\.log can't be read: [^\n]*ENOENT[^\n]*\nloggia: [^\n]* can't be read: EISDIR[^\n]*\n$/,
  );
});

test("a followed file is read on until the command is stopped, and then all is counted", async (t) => {
  const service = await serviceOf(t, "embedded");
  const path = file(t, "one\n");
  const { code, out } = await run(shipTo(service.postUrl, "--follow", path), {
    stopWhen: async () => {
      await rows(service, 1);
      appendFileSync(path, "two\n");
      await rows(service, 2);
    },
  });
  t.is(out, "posted 2, failed 0, retried 0\n");
  t.is(code, 0);
});

test("a key that is refused ends the command, also where a file is followed that does not grow", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { code, err } = await run(["ship", "--url", service.postUrl, "--log", "other", "--follow", file(t, "one\n")]);
  t.is(code, 1);
  t.regex(err, /^loggia: The service refuses the key: 401 [^\n]*\n$/);
});

test("what the service refuses is told and counted as failed", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { code, out, err } = await run(shipTo(service.postUrl, "--pattern", "^(?<value>\\S+) (?<text>.*)"), {
    input: "5 good\nfive bad\n",
  });
  t.is(out, "posted 1, failed 1, retried 0\n");
  t.is(code, 1);
  t.regex(err, /not posted: five bad: Bad event: value is "five"/);
});

test("lines of which the service takes none have failed, all of them", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { code, out } = await run(shipTo(service.postUrl, "--pattern", "^(?<value>\\S+) (?<text>.*)"), {
    input: "five bad\n".repeat(150),
  });
  t.is(out, "posted 0, failed 150, retried 0\n");
  t.is(code, 1);
});

test("lines that compress beyond what the service takes are posted uncompressed", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { code, out } = await run(shipTo(service.postUrl), { input: `${"the same ".repeat(20)}\n`.repeat(1_000) });
  t.is(out, "posted 1000, failed 0, retried 0\n");
  t.is(code, 0);
});

test("a wrong key, an unreachable service, a bad pattern and a missing file are told in one line", async (t) => {
  const service = await serviceOf(t, "embedded");
  const ship = ["ship", "--url", service.postUrl];
  const wrong = await run([...ship, "--log", "other"], { input: "a\nb\nc\n" });
  t.is(wrong.code, 1);
  t.regex(wrong.err, /^loggia: The service refuses the key: 401 [^\n]*\n$/);
  const missing = await run([...ship, "--log", LOG, "/nowhere/a.log"]);
  t.regex(missing.err, /^loggia: \/nowhere\/a\.log can't be read: [^\n]*\n$/);
  const pattern = await run([...ship, "--log", LOG, "--pattern", "(.*)"], { input: "a\n" });
  t.regex(pattern.err, /^loggia: --pattern has no named group, such as [^\n]*\n$/);
  const both = await run([...ship, "--log", LOG, "--pattern", "(?<text>.*)", "--json"], { input: "a\n" });
  t.is(both.err, "loggia: --pattern and --json exclude each other\n");
  const away = await run(["ship", "--url", "http://127.0.0.1:1", "--log", LOG, "--patience", "1"], { input: "a\n" });
  t.is(away.out, "posted 0, failed 1, retried " + /retried (\d+)/.exec(away.out)?.[1] + "\n");
  t.is(away.code, 1);
});

test("gzip and zstd are read as what they are, also from standard input and beside plain files", async (t) => {
  const service = await serviceOf(t, "embedded");
  const [zipped, zstandard] = [file(t, gzipSync("one\ntwo\n")), file(t, zstdCompressSync("three\n"))];
  const { code, out, err } = await run(shipTo(service.postUrl, zipped, file(t, "four\n"), zstandard));
  t.is(err, "");
  t.is(out, "posted 4, failed 0, retried 0\n");
  t.is(code, 0);
  const piped = await run(shipTo(service.postUrl), { input: gzipSync("five\n") });
  t.is(piped.out, "posted 1, failed 0, retried 0\n");
  const found = await rows(service, 5);
  t.deepEqual(found.map(({ text }) => text).toSorted(), ["five", "four", "one", "three", "two"]);
});

test("an archive that is cut off is told, and the files after it are posted", async (t) => {
  const service = await serviceOf(t, "embedded");
  const cut = file(t, gzipSync("one\ntwo\n").subarray(0, -9));
  const { code, out, err } = await run(shipTo(service.postUrl, cut, file(t, "three\n")));
  t.is(code, 1);
  t.regex(err, /^loggia: [^\n]* can't be read: the gzip archive is cut off\n$/);
  t.regex(out, /^posted [123], failed 0/);
  const piped = await run(shipTo(service.postUrl), { input: gzipSync("four\n").subarray(0, -9) });
  t.is(piped.code, 1);
  t.regex(piped.err, /^loggia: standard input can't be read: the gzip archive is cut off\n$/);
  const followed = await run(shipTo(service.postUrl, "--follow", cut));
  t.is(followed.code, 1);
  t.regex(followed.err, /which can't be followed/);
});

test("a pattern that matches no line is told, and ends with 1", async (t) => {
  const service = await serviceOf(t, "embedded");
  const words = shipTo(service.postUrl, "--pattern", "^(?<source>nobody) (?<text>.*)$");
  const { code, out, err } = await run(words, { input: "one\ntwo\n" });
  t.is(code, 1);
  t.is(out, "posted 2, failed 0, retried 0\n");
  t.is(err, "loggia: --pattern matched none of 2 lines; whole lines become texts\n");
  const many = await run(words, { input: "line\n".repeat(150) });
  t.is(many.code, 1);
  t.regex(many.err, /^loggia: --pattern matched none of 100 lines[^\n]*\nloggia: --pattern matched none of 150 lines/);
  t.is((await run(words, { input: "one\nnobody two\n" })).code, 0);
});

test("an address that refuses is told at once, and one patience is for the whole run", async (t) => {
  const input = "a line\n".repeat(20_000);
  const { code, out, err } = await run([...shipTo("http://127.0.0.1:1"), "--patience", "1"], {
    input,
    keepsNotes: true,
  });
  t.is(code, 1);
  // Of twenty batches one was tried; the others were not read.
  t.regex(out, /^posted 0, failed 1000, retried \d+\n$/);
  const [first, ...more] = err.trimEnd().split("\n");
  t.is(first, "loggia: http://127.0.0.1:1 takes no posts: connect ECONNREFUSED 127.0.0.1:1; trying again for 1 s");
  t.is(more.at(-1), "loggia: gave up after 1 s; what was not read yet is not posted");
});

test("a service that is silent, and one that is busy, are told before the patience ends, with a report", async (t) => {
  for (const answer of ["none", "busy"] as const) {
    const server = createServer((request, response) => {
      if (answer === "busy") request.resume().on("end", () => response.writeHead(503).end());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.teardown(() => server.close().closeAllConnections());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, out, err } = await run([...shipTo(url), "--patience", "12"], { input: "one\n", keepsNotes: true });
    t.is(code, 1);
    t.regex(out, /^posted 0, failed 1, /);
    const said = answer === "busy" ? "503 " : "it does not answer";
    t.regex(err, new RegExp(`^loggia: ${url} takes no posts: ${said}; trying again for 12 s\n`));
    t.regex(err, /\nloggia: posted 0, failed 0, retried \d+, 0\/s\n/);
  }
});

test("a busy service is tried again, no sooner than it asks", async (t) => {
  const moments_ms: number[] = [];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      moments_ms.push(performance.now());
      if (moments_ms.length === 1) response.writeHead(503, { "Retry-After": "1" });
      else if (moments_ms.length === 2) response.writeHead(429);
      else response.writeHead(201);
      response.end('{"accepted":1,"rejected":0,"items":[{"id":"6b01546226800000168a1671"}]}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { out, code } = await run(shipTo(url), { input: "a\n" });
  t.is(out, "posted 1, failed 0, retried 2\n");
  t.is(code, 0);
  t.true((moments_ms[1] ?? 0) - (moments_ms[0] ?? 0) >= 1000);
});

test("a batch whose answer got lost is sent again under its key, and is there once", async (t) => {
  const service = await serviceOf(t, "embedded");
  const keys: (string | undefined)[] = [];
  const encodings: (string | undefined)[] = [];
  // Hands every request on, and drops the answers of the first two.
  const server = createServer((request, response) => {
    const onward = httpRequest(service.postUrl + request.url, { method: "POST", headers: request.headers });
    request.pipe(onward);
    keys.push(request.headers["idempotency-key"] as string | undefined);
    encodings.push(request.headers["content-encoding"]);
    const isLost = keys.length <= 2;
    onward.on("response", (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        if (isLost) response.destroy();
        else response.writeHead(answer.statusCode ?? 500).end(Buffer.concat(chunks));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lines = Array.from({ length: 300 }, (_, n) => `line ${n} of a log that says much the same all day`);
  const { out } = await run(shipTo(url), { input: lines.join("\n") });
  t.is(out, "posted 300, failed 0, retried 2\n");
  // On a busy machine the lines may come in more batches than one; two requests are repeats, each
  // under its batch's key.
  t.is(keys.length, new Set(keys).size + 2);
  for (const key of keys) t.regex(key ?? "", /^[0-9a-f-]{36}$/);
  t.true(encodings.includes("gzip"));
  const found = await rows(service, 300);
  t.deepEqual(
    found.map(({ text }) => text),
    lines,
  );
});

test("the times of a log file are kept, where they can be read", async (t) => {
  const service = await serviceOf(t, "embedded");
  const pattern = String.raw`^(?<created>\S+ \S+) (?<text>.*)$`;
  const words = shipTo(service.postUrl, "--pattern", pattern);
  const input = "2011-06-19 13:54:33Z second\n2011-06-18 00:00:00+02:00 first\nsome day last\nno-time-here\n";
  const { out, err } = await run(words, { input });
  t.is(out, "posted 4, failed 0, retried 0\n");
  t.regex(err, /^loggia: no time that can be read: some day: [^\n]*\n$/);
  const found = (await rows(service, 4)) as (Row & { created: string })[];
  t.deepEqual(found.map(({ text }) => text).slice(0, 2), ["first", "second"]);
  t.is(found[1]?.created, `/Date(${Date.UTC(2011, 5, 19, 13, 54, 33)})/`);
  t.deepEqual(
    found
      .slice(2)
      .map(({ text }) => text)
      .toSorted(),
    ["last", "no-time-here"],
  );
});

test("how many times can't be read is told once, at the end", async (t) => {
  const service = await serviceOf(t, "embedded");
  const words = shipTo(service.postUrl, "--pattern", String.raw`^(?<created>\S+) (?<text>.*)$`);
  const { out, err } = await run(words, { input: "noon one\nlater two\nnow three\n1960-01-01 four\n" });
  t.is(out, "posted 4, failed 0, retried 0\n");
  t.regex(err, /^loggia: no time that can be read: noon: [^\n]*\nloggia: 4 lines have no time that can be read\n$/);
});
