import { appendFileSync } from "node:fs";
import { gzipSync, zstdCompressSync } from "node:zlib";
import test from "ava";

import { get, LOG, type Service, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { run, shipTo, type Row, rows, file } from "./ship-runs.ts";

test("each line of the files becomes an event with the fields of the options", async (t) => {
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

test("ships standard input, with a pattern whose groups become fields", async (t) => {
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

test("a named group that is not a field becomes an attribute", async (t) => {
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
    '{"message":"odd","user":{"id":7},"tags":[1],"value":"many","service":"web","list":[{"a":1}]}',
    '{"message":"own","tags":["a","b"],"value":1.5,"__proto__":"p","none":null}',
    "no JSON",
    '{"a":1}',
    '{"text":"exported","created":1308491673911,"source":"web","attributes":{"a.b":1,"source":"x","n":2},"n":1}',
  ];
  const { code, out } = await run(shipTo(service.postUrl, "--json"), { input: lines.join("\n") });
  t.is(out, "posted 6, failed 0, retried 0\n");
  t.is(code, 0);
  t.deepEqual(await attributesOf(service, 6), [
    ["exported", { "a.b": 1, n: [2, 1], source: "x" }],
    ["no JSON", {}],
    ["odd", { list: ['{"a":1}'], service: "web", tags: [1], "user.id": 7, value: "many" }],
    ["own", { ["__proto__"]: "p", value: 1.5 }],
    ["pino", { codes: [1, "a"], level: 30, "req.headers.host": "x", "req.method": "GET" }],
    ['{"a":1}', { a: 1 }],
  ]);
  const odd = (await rows(service, 6)).find(({ text }) => text === "odd");
  t.like(odd, { source: "web", user: "7", value: null });
  const none = await run(shipTo(service.postUrl, "--json"), { input: "a\nb\n" });
  t.is(none.code, 1);
  t.is(none.err, "loggia: --json found no JSON object in 2 lines; whole lines are posted as text\n");
});

test("a line of JSON above the limits of an event keeps the attributes that fit, and is tagged", async (t) => {
  const service = await serviceOf(t, "embedded");
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`name${i}`, i]));
  const lines = [
    { msg: "many", ...many },
    { msg: "long", long: "x".repeat(8_000), "": 1 },
    { msg: "large", ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`a${i}`, "ä".repeat(4_000)])) },
  ].map((line) => JSON.stringify(line));
  lines.push(`{"msg":"deep","a":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`);
  const { out } = await run(shipTo(service.postUrl, "--json"), { input: lines.join("\n") });
  t.is(out, "posted 4, failed 0, retried 0\n");
  const found = new Map(await attributesOf(service, 4));
  t.is(Object.keys(found.get("many")!).length, 256);
  t.deepEqual(found.get("long"), { _: 1, long: "x".repeat(7_500) });
  t.is(Object.keys(found.get("large")!).length, 8);
  t.true((await rows(service, 4)).filter(({ text }) => text !== "deep").every(({ tags }) => tags.includes("cut")));
});

/** Returns the attributes of a log's events, sorted by text. */
async function attributesOf(service: Service, count: number): Promise<[string, Record<string, unknown>][]> {
  await rows(service, count);
  const { body } = await get(service, `/1/logs/${LOG}/events?attributes=true`);
  return (body as { text: string; attributes: Record<string, unknown> }[])
    .map(({ text, attributes }): [string, Record<string, unknown>] => [text, attributes])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

test("a line above the limit is posted truncated, with the whole line as data", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { code } = await run(shipTo(service.postUrl), { input: `${"ä".repeat(8_100)}\n` });
  t.is(code, 0);
  const [row] = await rows(service, 1);
  t.is(row?.text, "ä".repeat(8_000));
  t.deepEqual(row?.tags, ["cut"]);
  t.true(row?.data);
});

test("a line above the limit of data too is truncated there as well", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { out } = await run(shipTo(service.postUrl), { input: `${"ä".repeat(70_000)}\n` });
  t.is(out, "posted 1, failed 0, retried 0\n");
  const [row] = (await rows(service, 1)) as (Row & { id: string })[];
  t.is((await get(service, `/1/logs/${LOG}/events/${row!.id}/data`)).body, "ä".repeat(65_536));
});

test("an unreadable file is reported, and the lines of the others are posted", async (t) => {
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

test("a followed file is read until the command is stopped, and the summary counts everything", async (t) => {
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

test("a refused key ends the command, also while it follows a file that does not grow", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { code, err } = await run(["ship", "--url", service.postUrl, "--log", "other", "--follow", file(t, "one\n")]);
  t.is(code, 1);
  t.regex(err, /^loggia: 1 line is kept in [^\n]*\nloggia: The service rejects the API key: 401 [^\n]*\n$/);
});

test("refused events are reported and counted as failed", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { code, out, err } = await run(shipTo(service.postUrl, "--pattern", "^(?<value>\\S+) (?<text>.*)"), {
    input: "5 good\nfive bad\n",
  });
  t.is(out, "posted 1, failed 1, retried 0\n");
  t.is(code, 1);
  t.regex(err, /not posted: five bad: Bad event: value is "five"/);
});

test("lines of which the service accepts none are all counted as failed", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { code, out } = await run(shipTo(service.postUrl, "--pattern", "^(?<value>\\S+) (?<text>.*)"), {
    input: "five bad\n".repeat(150),
  });
  t.is(out, "posted 0, failed 150, retried 0\n");
  t.is(code, 1);
});

test("lines that compress beyond the service's ratio are posted uncompressed", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { code, out } = await run(shipTo(service.postUrl), { input: `${"the same ".repeat(20)}\n`.repeat(1_000) });
  t.is(out, "posted 1000, failed 0, retried 0\n");
  t.is(code, 0);
});

test("a wrong key, an unreachable service, a bad pattern and a missing file are reported in one line", async (t) => {
  const service = await serviceOf(t, "embedded");
  const ship = ["ship", "--url", service.postUrl];
  const wrong = await run([...ship, "--log", "other"], { input: "a\nb\nc\n" });
  t.is(wrong.code, 1);
  t.regex(wrong.err, /^loggia: The service rejects the API key: 401 [^\n]*\n$/);
  const missing = await run([...ship, "--log", LOG, "/nowhere/a.log"]);
  t.regex(missing.err, /^loggia: \/nowhere\/a\.log can't be read: [^\n]*\n$/);
  const pattern = await run([...ship, "--log", LOG, "--pattern", "(.*)"], { input: "a\n" });
  t.regex(pattern.err, /^loggia: --pattern has no named group, such as [^\n]*\n$/);
  const away = await run(["ship", "--url", "http://127.0.0.1:1", "--log", LOG, "--patience", "1"], { input: "a\n" });
  t.is(away.out, "posted 0, failed 1, retried " + /retried (\d+)/.exec(away.out)?.[1] + "\n");
  t.is(away.code, 1);
});

test("gzip and zstd are detected, also from standard input and beside plain files", async (t) => {
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

test("a truncated archive is reported, and the files after it are posted", async (t) => {
  const service = await serviceOf(t, "embedded");
  const cut = file(t, gzipSync("one\ntwo\n").subarray(0, -9));
  const { code, out, err } = await run(shipTo(service.postUrl, cut, file(t, "three\n")));
  t.is(code, 1);
  t.regex(err, /^loggia: [^\n]* can't be read: the gzip archive is truncated\n$/);
  t.regex(out, /^posted [123], failed 0/);
  const piped = await run(shipTo(service.postUrl), { input: gzipSync("four\n").subarray(0, -9) });
  t.is(piped.code, 1);
  t.regex(piped.err, /^loggia: standard input can't be read: the gzip archive is truncated\n$/);
  const followed = await run(shipTo(service.postUrl, "--follow", cut));
  t.is(followed.code, 1);
  t.regex(followed.err, /which can't be followed/);
});

test("a pattern that matches no line is reported with exit code 1", async (t) => {
  const service = await serviceOf(t, "embedded");
  const words = shipTo(service.postUrl, "--pattern", "^(?<source>nobody) (?<text>.*)$");
  const { code, out, err } = await run(words, { input: "one\ntwo\n" });
  t.is(code, 1);
  t.is(out, "posted 2, failed 0, retried 0\n");
  t.is(err, "loggia: --pattern matched none of 2 lines; whole lines are posted as text\n");
  const many = await run(words, { input: "line\n".repeat(150) });
  t.is(many.code, 1);
  t.regex(many.err, /^loggia: --pattern matched none of 100 lines[^\n]*\nloggia: --pattern matched none of 150 lines/);
  t.is((await run(words, { input: "one\nnobody two\n" })).code, 0);
});

test("the times of a log file are kept if they can be parsed", async (t) => {
  const service = await serviceOf(t, "embedded");
  const pattern = String.raw`^(?<created>\S+ \S+) (?<text>.*)$`;
  const words = shipTo(service.postUrl, "--pattern", pattern);
  const input = "2011-06-19 13:54:33Z second\n2011-06-18 00:00:00+02:00 first\nsome day last\nno-time-here\n";
  const { out, err } = await run(words, { input });
  t.is(out, "posted 4, failed 0, retried 0\n");
  t.regex(err, /^loggia: some day is no time [^\n]*\nloggia: 2 lines have no time [^\n]*\n$/);
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

test("the number of unparsable times is reported once, at the end", async (t) => {
  const service = await serviceOf(t, "embedded");
  const words = shipTo(service.postUrl, "--pattern", String.raw`^(?<created>\S+) (?<text>.*)$`);
  const { out, err } = await run(words, { input: "noon one\nlater two\nnow three\n1960-01-01 four\n" });
  t.is(out, "posted 4, failed 0, retried 0\n");
  // On a busy machine it may also report that the service answers late.
  const notes = err.split("\n").filter((line) => /\btime\b/.test(line));
  t.regex(
    notes.join("\n"),
    /^loggia: noon is no time in a known form; .*\nloggia: 4 lines have no time in a known form; .*$/,
  );
});
