import test from "ava";
import type { ExecutionContext } from "ava";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { killAfterExit } from "../../infra/engines/guard.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;
const MEMORY_MB = 1_024;
const EVENTS = 1_000_000;
const BATCH = 5_000;
const AT_A_TIME = 2;
const TIMEOUT_MS = 1_200_000;

/** Starts the service as an operator does. */
async function startProcess(t: ExecutionContext, environment: Record<string, string>) {
  const child = spawn(process.execPath, [LOGGIA, "start"], {
    env: { ...process.env, ...environmentOf("embedded", temporaryFolder(t)), ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  killAfterExit(child);
  t.teardown(() => end(child));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  const api = await until(() => /^API +(\S+)$/m.exec(said)?.[1], { what: "the API" });
  const post = await until(() => /^posting +(\S+)$/m.exec(said)?.[1], { what: "the posting address" });
  return { pid: child.pid!, api, post };
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

/** Each text is distinct, and so is the user of each thousandth event. */
function batchFrom(first: number): string {
  const lines = Array.from({ length: BATCH }, (_, i) => {
    const number = (first + i) * 7_919;
    return JSON.stringify({
      created: Date.UTC(2026, 0, 1) + (first + i) * 1_000,
      text: `GET /api/orders/${number % 90_001} answered 200 for customer ${number % 5_003}, request=${number.toString(36)}`,
      tags: [`tag-${number % 12}`, `host-${number % 8}`],
      source: `web-${number % 50}`,
      user: `user-${number % 1_009}`,
      value: (number % 100_003) / 100,
    });
  });
  return lines.join("\n");
}

test("a process stays within its memory while it loads a million events and answers large queries", async (t) => {
  // Other systems do not report the peak memory of a process.
  if (process.platform !== "linux") return t.pass();
  t.timeout(TIMEOUT_MS);
  const { pid, api, post } = await startProcess(t, { LOGGIA_MEMORY: `${MEMORY_MB}MB` });
  const highest_mb = (): number =>
    Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
  const headersOf = (batch: number) => ({
    "X-API-Key": KEY,
    "Content-Type": "application/x-ndjson",
    // A late request that is sent again is stored once.
    "Idempotency-Key": `batch ${batch}`,
  });
  let next = 0;
  const load = async (): Promise<void> => {
    for (let first = next; first < EVENTS; first = next) {
      next += BATCH;
      const body = batchFrom(first);
      for (let status = 503; status !== 201;) {
        ({ status } = await fetch(`${post}/logs/${LOG}/events`, { method: "POST", headers: headersOf(first), body }));
        if (status !== 201 && status !== 503) throw new Error(`a batch was answered ${status}`);
        // The queue of the bus is full.
        if (status === 503) await sleep(200);
      }
    }
  };
  const ask = async (path: string, parameters: Record<string, string>) => {
    const answer = await fetch(`${api}/logs/${LOG}${path}?${new URLSearchParams(parameters).toString()}`, {
      headers: { Authorization: AUTHORIZATION },
    });
    return { status: answer.status, total: answer.headers.get("x-total-count"), body: await answer.text() };
  };
  const query = (text: string) => ask("/query", { query: text });
  await Promise.all(Array.from({ length: AT_A_TIME }, load));
  const count = { pagesize: "1", total: "exact" };
  await until(async () => (await ask("/events", count)).total === String(EVENTS), {
    what: "all events",
    timeout_ms: TIMEOUT_MS,
    interval_ms: 500,
  });
  const heavy = [
    "GET events GROUPBY text COLUMNS(KEY, COUNT, SUM) SORT SUM DESC TAKE 10",
    "GET events GROUPBY user COLUMNS(KEY, DISTINCT(text), P99(value)) TAKE 10",
    "GET events GROUPBY source COLUMNS(KEY, DISTINCT(text), P50(value))",
    "GET events SORT text TAKE 500",
  ];
  for (const round of [heavy.slice(0, 1), heavy, [...heavy, ...heavy]]) {
    for (const { status, body } of await Promise.all(round.map(query))) {
      if (status !== 200) t.regex(body, /needs more memory than the store may use|take too much memory/);
      t.true(status === 200 || status === 503 || status === 429, body);
    }
  }
  t.is((await query("GET events GROUPBY DAY")).status, 200);
  t.is((await ask("/events", count)).total, String(EVENTS));
  t.true(highest_mb() <= MEMORY_MB, `${highest_mb()} MB`);
  t.log(`${Math.round(highest_mb())} MB at most`);
});
