import test, { type ExecutionContext } from "ava";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";

import { chart } from "../../src/cli/queries.ts";
import { painter } from "../../src/cli/paint.ts";
import { ADMIN, LOG, post, type Service, serviceOf } from "../support/service.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

type Run = { readonly code: number; readonly out: string; readonly err: string };

function run(service: Pick<Service, "apiUrl">, ...words: string[]): Promise<Run> {
  return new Promise((resolve) => {
    const env = { ...process.env, LOGGIA_AS: `${ADMIN.email}:${ADMIN.password}`, NO_COLOR: "1" };
    const all = [LOGGIA, ...words, "--log", LOG, "--api", service.apiUrl];
    execFile(process.execPath, all, { env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

async function done(t: ExecutionContext, running: Promise<Run>): Promise<string> {
  const { code, out, err } = await running;
  t.is(err, "");
  t.is(code, 0);
  return out.replace(/\n$/, "");
}

async function serviceWithEvents(t: ExecutionContext): Promise<Service> {
  const service = await serviceOf(t, "embedded");
  for (const [text, source] of [
    ["disk full", "db"],
    ["slow\u001b[2J query", "db"],
    ["page read", "web"],
  ] as const) {
    // prettier-ignore
    t.is((await post(service, { text, source, tags: "a b" })).status, 201);
  }
  await until(async () => {
    const { out } = await run(service, "query", "GET events", "--json");
    return (JSON.parse(out) as unknown[]).length === 3;
  }, { what: "the events" }); // prettier-ignore
  return service;
}

test("query shows events as a table with the columns that have values", async (t) => {
  const service = await serviceWithEvents(t);
  const lines = (await done(t, run(service, "query", "GET events SORT source DESC"))).split("\n");
  t.regex(lines[0]!, /^CREATED +TAGS +SOURCE +TEXT$/);
  t.regex(lines[1]!, /^20\d\d-\d\d-\d\dT[\d:.]+Z +a b +web +page read$/);
  t.is(lines.length, 4);
  t.true(lines.some((line) => line.endsWith("slow\\u001b[2J query")), "no text steers the terminal"); // prettier-ignore
  const columns = await done(t, run(service, "query", "GET events WHERE source = 'web' COLUMNS(text, source)"));
  t.deepEqual(columns.split("\n"), ["SOURCE  TEXT", "web     page read"]);
  t.is(await done(t, run(service, "query", "GET events WHERE source = 'none'")), "nothing found");
});

test("query draws a bar for each group's count", async (t) => {
  const service = await serviceWithEvents(t);
  const lines = (await done(t, run(service, "query", "GET events GROUPBY source COLUMNS(key, count)"))).split("\n");
  t.regex(lines[0]!, /^KEY +COUNT$/);
  t.regex(lines[1]!, /^db +2 +█{40}$/);
  t.regex(lines[2]!, /^web +1 +█{20}$/);
});

test("keys and compared values have columns of their own, and bars fit the terminal", (t) => {
  const groups = [
    { key: "a b", keys: ["a b", ""], count: "4", "avg(@Took)": "1", previous: { count: "2", "avg(@Took)": "0" } },
    { key: "c", keys: ["c", "d"], count: "2", "avg(@Took)": "2", previous: { count: "0", "avg(@Took)": "0" } },
  ];
  const [head, first] = chart(groups).split("\n");
  t.is(head, "KEY 1  KEY 2  COUNT  avg(@Took)  PREVIOUS COUNT  previous avg(@Took)");
  t.regex(first!, /^a b {11}4 {6}1 {11}2 {15}0 +█{40}$/);
  const lines = chart(groups, head!.length + 12).split("\n");
  t.regex(lines[1]!, / █{10}$/);
  t.false(chart(groups, 60).includes("█"));
});

test("a fault in a query keeps its line breaks, so that the caret points to its place", async (t) => {
  const service = await serviceOf(t, "embedded");
  for (const command of ["query", "tail"]) {
    const { err } = await run(service, command, "GET evnts");
    t.deepEqual(err.trimEnd().split("\n").slice(-2), ["GET evnts", "    ^"], command);
  }
});

test("queries are saved, run by name, listed and removed", async (t) => {
  const service = await serviceWithEvents(t);
  const saved = await done(t, run(service, "queries", "save", "By source", "GET events GROUPBY source", "--share"));
  t.is(saved, `query By source of log ${LOG} saved`);
  t.regex(await done(t, run(service, "query", "--saved", "by SOURCE")), /^KEY +COUNT/);
  const list = await done(t, run(service, "queries", "list"));
  t.regex(list.split("\n")[1]!, /^By source +\S+@\S+ +yes +GET events GROUPBY source$/);
  t.is(await done(t, run(service, "queries", "remove", "by source")), `query by source of log ${LOG} removed`);
  t.regex((await run(service, "query", "--saved", "By source")).err, /refused with 404: You have no saved query/);
});

test("a query together with a name, or neither, is refused without a request", async (t) => {
  const nowhere = { apiUrl: "http://127.0.0.1:1" };
  for (const words of [["query"], ["query", "GET events", "--saved", "x"]]) {
    const { code, err } = await run(nowhere, ...words);
    t.is(code, 1);
    t.regex(err, /^loggia: Give either a query/);
  }
});

test("a class's colour is mapped to one of the terminal", (t) => {
  t.is(painter("red")("x"), "\u001b[31mx\u001b[39m");
  t.is(painter("#0f8")("x"), "\u001b[38;2;0;255;136mx\u001b[39m");
  t.is(painter("constructor")("x"), "x");
  t.is(painter("rgb(1,2,3)")("x"), "x");
  t.is(painter(undefined)("x"), "x");
});

test("tail prints the last events and each new one until it is stopped", async (t) => {
  const service = await serviceWithEvents(t);
  const env = { ...process.env, LOGGIA_AS: `${ADMIN.email}:${ADMIN.password}`, NO_COLOR: "1" };
  const words = [
    LOGGIA,
    "tail",
    "GET events WHERE source = 'db'",
    "--last",
    "1",
    "--log",
    LOG,
    "--api",
    service.apiUrl,
  ];
  const tail = spawn(process.execPath, words, { env, stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => tail.kill("SIGKILL"));
  let out = "";
  tail.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  await until(() => out.includes("slow"), { what: "the last event" });
  t.is((await post(service, { text: "new one", source: "db" })).status, 201);
  t.is((await post(service, { text: "not this", source: "web" })).status, 201);
  await until(() => out.includes("new one"), { what: "the new event" });
  const lines = out.trimEnd().split("\n");
  t.is(lines.length, 2);
  t.regex(lines[0]!, /^20\d\d-[\dT:.-]+Z {2}db {2}slow\\u001b\[2J query$/);
  tail.kill("SIGINT");
  const [code] = (await once(tail, "exit")) as [number | null];
  t.is(code, 0);
  t.false(out.includes("not this"));
  t.regex((await run(service, "tail", "GET events GROUPBY source")).err, /refused with 400: Line 1/);
});
