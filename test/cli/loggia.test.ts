import test from "ava";
import type { ExecutionContext } from "ava";
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";

import { killAfterExit } from "../../infra/engines/guard.ts";
import { environmentOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const COMMAND = resolve(import.meta.dirname, "../../src/cli/loggia.mjs");
/** Ends a chain of processes that start each other, which would go on forever. */
const END_FOURTH =
  "process.env.STARTS=Number(process.env.STARTS||0)+1;if(Number(process.env.STARTS)>3)process.exit(99)";
const BE_VERSION_20 = "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.1.0'}})";

test("if the pinned Node is too old too, the command says what to do and starts nothing", async (t) => {
  const child = spawn(process.execPath, [COMMAND, "help"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, NODE_OPTIONS: `--import "data:text/javascript,${END_FOURTH};${BE_VERSION_20}"` },
  });
  killAfterExit(child);
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  t.is(code, 1);
  t.regex(said, /needs Node \d+ or newer, this is .*; run npm ci/);
});

/** A service that was started by way of another program. */
type Started = { readonly child: ChildProcess; readonly api: string; readonly ended: Promise<number | string> };

/** Runs a command that starts a service, and waits until it serves. */
async function startBy(
  t: ExecutionContext,
  [command, ...words]: readonly [string, ...string[]],
  environment: Record<string, string> = {},
): Promise<Started> {
  const env = { ...process.env, ...environmentOf("embedded", temporaryFolder(t)), ...environment };
  const child = spawn(command, [...words, "start"], { stdio: ["ignore", "pipe", "inherit"], env });
  killAfterExit(child);
  const ended = once(child, "exit").then(([code, signal]) => (code ?? signal) as number | string);
  let said = "";
  child.stdout.on("data", (part: Buffer) => (said += part.toString()));
  const api = await until(() => /^API +(\S+)$/m.exec(said)?.[1], { what: "the API" });
  t.is((await fetch(new URL("/health/live", api))).status, 200);
  return { child, api, ended };
}

async function untilClosed({ api }: Started): Promise<void> {
  const isClosed = () =>
    fetch(new URL("/health/live", api)).then(
      () => false,
      () => true,
    );
  await until(isClosed, { what: "the end of the service" });
}

/** Returns a program that runs the command under a Node that claims to be too old. */
function oldNode(t: ExecutionContext, change = ""): { command: [string, string]; environment: Record<string, string> } {
  const node = join(temporaryFolder(t), "old-node");
  // Written by this process, a file could not be run while another thread forks.
  execFileSync("cp", [process.execPath, node]);
  const pretend = `if(process.execPath.endsWith('old-node')){${BE_VERSION_20};${change}}`;
  return { command: [node, COMMAND], environment: { NODE_OPTIONS: `--import "data:text/javascript,${pretend}"` } };
}

test("run as a program, the command becomes the pinned Node, whatever Node is installed", async (t) => {
  const PATH = "/usr/bin:/bin";
  const killed = await startBy(t, [COMMAND], { PATH });
  killed.child.kill("SIGKILL");
  t.is(await killed.ended, "SIGKILL");
  await untilClosed(killed);
  const stopped = await startBy(t, [COMMAND], { PATH });
  stopped.child.kill("SIGTERM");
  t.is(await stopped.ended, 0);
});

test("an older Node hands over to the pinned one, which gets signals and kills", async (t) => {
  const { command, environment } = oldNode(t);
  const killed = await startBy(t, command, environment);
  killed.child.kill("SIGKILL");
  t.is(await killed.ended, "SIGKILL");
  await untilClosed(killed);
});

test("a Node that cannot hand over forwards signals, and its service ends with it", async (t) => {
  const { command, environment } = oldNode(t, "delete process.execve");
  const stopped = await startBy(t, command, environment);
  stopped.child.kill("SIGTERM");
  t.is(await stopped.ended, 0);
  await untilClosed(stopped);
  const killed = await startBy(t, command, environment);
  killed.child.kill("SIGKILL");
  t.is(await killed.ended, "SIGKILL");
  await untilClosed(killed);
});
