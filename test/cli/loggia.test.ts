import test from "ava";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";

import { killAfterExit } from "../../infra/engines/guard.ts";

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
