import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";

import { printable } from "../src/cli/terminal.ts";
import { startLoggia } from "../src/main.ts";
import { readSettings } from "../src/settings.ts";

/** Logs of package managers, with the expressions that parse their lines into events. */
const LOGS: readonly { path: string; pattern: string; classes: readonly string[][] }[] = [
  {
    path: "/var/log/dpkg.log",
    pattern: String.raw`^(?<created>\S+ \S+) (?<text>(?<tags>\S+).*)$`,
    classes: [
      ["removal", "--tag", "remove", "--color", "red", "--weight", "30"],
      ["upgrade", "--tag", "upgrade", "--color", "orange", "--weight", "20"],
      ["install", "--tag", "install", "--color", "green", "--weight", "10"],
    ],
  },
  {
    path: "/var/log/dnf.rpm.log",
    pattern: String.raw`^(?<created>\S+) \S+ (?<text>(?<tags>[^\s:]+).*)$`,
    classes: [
      ["removal", "--text", "Erase:", "--color", "red", "--weight", "30"],
      ["upgrade", "--text", "Upgrade:", "--color", "orange", "--weight", "20"],
      ["install", "--text", "Installed:", "--color", "green", "--weight", "10"],
    ],
  },
  {
    path: "/var/log/pacman.log",
    pattern: String.raw`^\[(?<created>[^\]]+)\] \[(?<source>[^\]]+)\] (?<text>.*)$`,
    classes: [
      ["removal", "--text", "removed ", "--color", "red", "--weight", "30"],
      ["upgrade", "--text", "upgraded ", "--color", "orange", "--weight", "20"],
      ["install", "--text", "installed ", "--color", "green", "--weight", "10"],
    ],
  },
  {
    path: "/var/log/install.log",
    pattern: String.raw`^(?<created>\S+ \S+) (?<source>\S+) (?<text>.*)$`,
    classes: [
      ["failure", "--text", "fail", "--color", "red", "--weight", "30"],
      ["install", "--text", "install", "--color", "green", "--weight", "10"],
    ],
  },
];

const ADMIN = "demo@localhost:demo-password";
const KEY = "demo-key-0000";
const DRAIN_TIMEOUT_MS = 60_000;

/** Ships this machine's package log through a service on embedded engines, and shows the result. */
async function demo(): Promise<void> {
  const found = LOGS.find(({ path }) => existsSync(path));
  if (found === undefined) {
    console.error(
      `demo: none of ${LOGS.map(({ path }) => path).join(", ")} exists; ` +
        "ship another file with loggia ship (see README.md)",
    );
    process.exitCode = 1;
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "loggia-demo-"));
  const environment = {
    LOGGIA_API: "127.0.0.1:0",
    LOGGIA_POST: "127.0.0.1:0",
    LOGGIA_DATA: folder,
    LOGGIA_ADMIN: ADMIN,
    LOGGIA_LOG: `packages:${KEY}`,
  };
  const loggia = await startLoggia(readSettings(environment), pino({ level: "error" }));
  const api = `http://127.0.0.1:${loggia.api?.port}`;
  const post = `http://127.0.0.1:${loggia.post?.port}`;
  try {
    for (const words of found.classes)
      await loggiaCommand(["class", "add", ...words, "--log", "packages", "--api", api]);
    const alerting = found.classes[0]?.[0] ?? "";
    await loggiaCommand(["alert", "on", alerting, "--log", "packages", "--api", api]);
    await loggiaCommand(["class", "list", "--log", "packages", "--api", api]);
    const shipped = await loggiaCommand([
      "ship",
      "--post",
      post,
      "--log",
      "packages",
      "--state",
      "none",
      "--pattern",
      found.pattern,
      found.path,
    ]);
    await untilStored(api, Number(/^posted (\d+)/m.exec(shipped)?.[1]));
    await show("The newest three events", api, "/1/logs/packages/events?order=desc&pagesize=3");
    await show(`Three alerts: class ${alerting}`, api, "/1/logs/packages/alerts?order=desc&pagesize=3");
    await query("Events by day", api, "GET events GROUPBY DAY");
    await query(
      "Events by class, the largest first",
      api,
      "GET events GROUPBY class SORT count DESC COLUMNS(KEY, COUNT)",
    );
  } finally {
    await loggia.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the command-line tool in a separate process, and shows its command line and output, which it returns. */
async function loggiaCommand(words: readonly string[]): Promise<string> {
  console.log(`\n$ loggia ${words.map((word) => (/^[\w@:/.,=-]+$/.test(word) ? word : `'${word}'`)).join(" ")}`);
  const child = spawn(process.execPath, [new URL("../src/cli/main.ts", import.meta.url).pathname, ...words], {
    stdio: ["inherit", "pipe", "inherit"],
    env: { ...process.env, LOGGIA_AS: ADMIN, LOGGIA_KEY: KEY },
  });
  child.stdout.pipe(process.stdout, { end: false });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  if (code !== 0) throw new Error(`loggia ${words[0]} ended with exit code ${String(code)}`);
  return output;
}

async function get(api: string, path: string): Promise<Response> {
  const response = await fetch(api + path, {
    headers: { Authorization: `Basic ${Buffer.from(ADMIN).toString("base64")}` },
  });
  if (!response.ok) throw new Error(`GET ${path} returned ${response.status}: ${printable(await response.text())}`);
  return response;
}

/** Waits until a number of events is stored. */
async function untilStored(api: string, count: number): Promise<void> {
  const deadline_ms = performance.now() + DRAIN_TIMEOUT_MS;
  for (;;) {
    const total = Number(
      (await get(api, "/1/logs/packages/events?pagesize=1&total=exact")).headers.get("x-total-count"),
    );
    if (total >= count) return;
    if (performance.now() > deadline_ms) throw new Error(`of ${count} events ${total} arrived in time`);
    await delay(300);
  }
}

async function show(title: string, api: string, path: string): Promise<void> {
  console.log(`\n${title}\n$ curl -u e-mail:password '${api}${path}'`);
  const rows = (await (await get(api, path)).json()) as unknown[];
  for (const row of rows) console.log(printable(JSON.stringify(row)));
}

async function query(title: string, api: string, lql: string): Promise<void> {
  await show(`${title}: ${lql}`, api, `/1/logs/packages/query?query=${encodeURIComponent(lql)}`);
}

await demo();
