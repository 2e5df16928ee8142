import test from "ava";
import type { ExecutionContext } from "ava";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { freePorts } from "../../infra/engines/ports.ts";
import { send } from "../chaos/http.ts";
import { Program } from "../chaos/program.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG, postOnce } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * Starts a service on embedded engines in a process of its own, with a clock that is `shift` ahead.
 */
async function start(t: ExecutionContext) {
  t.timeout(300_000);
  const folder = temporaryFolder(t);
  const data = join(folder, "data");
  const shift = join(folder, "shift");
  writeFileSync(shift, "0");
  const [apiPort, postPort] = await freePorts(2);
  const postUrl = `http://127.0.0.1:${postPort}`;
  const program = await Program.start({
    name: "all",
    folder,
    environment: {
      ...environmentOf("embedded", data),
      LOGGIA_API: `127.0.0.1:${apiPort}`,
      LOGGIA_POST: `127.0.0.1:${postPort}`,
      CHAOS_CLOCK: shift,
    },
    preloads: [new URL("../chaos/preload/clock.ts", import.meta.url).pathname],
  });
  t.teardown(() => program[Symbol.asyncDispose]());
  const call = async (method: "GET" | "PATCH" | "POST", path: string, body?: unknown) => {
    const headers = { Authorization: AUTHORIZATION, "Content-Type": "application/json" };
    const url = `http://127.0.0.1:${apiPort}${path}`;
    return send({ url, method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  };
  const post = async (fields: Record<string, string>) => {
    const body = new URLSearchParams({ apikey: KEY, ...fields }).toString();
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    const url = `${postUrl}/1/logs/${LOG}/events`;
    const attempt = async () => {
      const { status } = await send({ url, method: "POST", headers, body });
      // 503: the bus did not confirm it in time.
      return status === 503 ? null : status;
    };
    return await until(attempt, { what: "an answer to a post", interval_ms: 500 });
  };
  const texts = async () => {
    const { text } = await call("GET", `/1/logs/${LOG}/events`);
    return (JSON.parse(text) as { text: string }[]).map((event) => event.text);
  };
  return { program, data, shift, postUrl, call, post, texts };
}

test("a replay while the clock is ahead restores everything that a lost store held", async (t) => {
  const { program, data, shift, postUrl, call, texts } = await start(t);
  t.is((await call("PATCH", `/manage/1/logs/${LOG}`, { retentionDays: 90 })).status, 200);
  const posted = ["one", "two", "three"];
  for (const text of posted) await postOnce({ postUrl }, { text });
  await until(async () => (await texts()).length === 3, { what: "the events" });
  await program.terminate();
  for (const file of ["events.duckdb", "events.duckdb.wal"]) rmSync(join(data, file), { force: true });
  writeFileSync(shift, String(100 * DAY_MS));
  await program.start();
  t.is((await call("GET", "/health/ready")).status, 503, "the store is empty");
  t.is((await call("POST", "/manage/1/replay", { from: "start" })).status, 202);
  const replay = async () => JSON.parse((await call("GET", "/manage/1/replay")).text) as { last: { state: string } };
  await until(async () => (await replay()).last.state === "done", { what: "the replay" });
  t.deepEqual(await texts(), posted);
  await until(async () => (await call("GET", "/health/ready")).status === 200, { what: "readiness" });
});

test("a host's clock that is behind refuses no event for its correct time", async (t) => {
  const { program, shift, post, texts } = await start(t);
  await program.terminate();
  writeFileSync(shift, String(-DAY_MS));
  await program.start();
  const now_ms = Date.now();
  t.is(await post({ text: "right", created: new Date(now_ms).toISOString() }), 201);
  t.is(await post({ text: "ahead", created: new Date(now_ms + 6 * MINUTE_MS).toISOString() }), 400);
  await until(async () => (await texts()).includes("right"), { what: "the event" });
});
