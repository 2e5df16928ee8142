import test from "ava";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";

const COMMAND = resolve(import.meta.dirname, "../../src/cli/loggia.mjs");
const AS_VERSION_20 =
  "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.1.0'}})";

test("if the pinned Node is too old too, the command says what to do and starts nothing", async (t) => {
  const child = spawn(process.execPath, [COMMAND, "help"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, NODE_OPTIONS: `--import "${AS_VERSION_20}"` },
    detached: true,
  });
  // Kills its child processes too.
  const timer = setTimeout(() => process.kill(-child.pid!, "SIGKILL"), 3_000);
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  clearTimeout(timer);
  t.is(code, 1);
  t.regex(said, /needs Node \d+ or newer, this is .*; run npm ci/);
});
