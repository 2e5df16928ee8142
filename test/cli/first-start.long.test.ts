import test from "ava";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { killAfterExit } from "../../infra/engines/guard.ts";
import { environmentOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;
const KILL_AT = new URL("./kill-at.ts", import.meta.url).pathname;
/** More moments than a first start has. */
const MOST_MOMENTS = 40;

function start(environment: Record<string, string>, preload: readonly string[] = []) {
  const child = spawn(process.execPath, [...preload, LOGGIA, "start"], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "ignore"],
  });
  killAfterExit(child);
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.on("close", (_, signal) => resolve(signal)));
  return { child, ended, out: () => out };
}

/** Returns the last secrets of all first starts in a folder. */
function secretsIn(folder: string): { password: string | undefined; apiKey: string | undefined } {
  const shown = readFileSync(join(folder, "first-start.txt"), "utf8");
  const last = (pattern: RegExp) => [...shown.matchAll(pattern)].at(-1)?.[1];
  return { password: last(/^ {2}password {2}(\S+)$/gm), apiKey: last(/^ {2}API key {3}(\S+)$/gm) };
}

test("after kill -9 at any moment of the first start, a password and a key that were shown are valid", async (t) => {
  let wasWhole = false;
  for (let moment = 1; !wasWhole; moment += 1) {
    t.true(moment < MOST_MOMENTS);
    const folder = temporaryFolder(t);
    const { LOGGIA_ADMIN: _admin, LOGGIA_LOG: _log, ...environment } = environmentOf("embedded", folder);
    const first = start({ ...environment, KILL_AT: String(moment) }, ["--import", KILL_AT]);
    const killed = await Promise.race([
      first.ended,
      until(() => first.out().includes("Read it:"), { what: "a start" }),
    ]);
    wasWhole = killed === true && first.child.exitCode === null && first.child.signalCode === null;
    first.child.kill("SIGKILL");
    await first.ended;
    const second = start(environment);
    const api = await until(() => /^API +(\S+)$/m.exec(second.out())?.[1], { what: "the second start" });
    const post = await until(() => /^posting +(\S+)$/m.exec(second.out())?.[1], { what: "the posting address" });
    const { password, apiKey } = secretsIn(folder);
    const headers = { Authorization: `Basic ${Buffer.from(`admin@localhost:${password}`).toString("base64")}` };
    t.is((await fetch(`${api}/logs`, { headers })).status, 200, `password, killed at moment ${moment}`);
    const body = new URLSearchParams({ apikey: apiKey ?? "", text: "hello" });
    const posted = await fetch(`${post}/logs/first-log/events`, { method: "POST", body });
    t.is(posted.status, 201, `API key, killed at moment ${moment}`);
    second.child.kill("SIGINT");
    await second.ended;
  }
});
