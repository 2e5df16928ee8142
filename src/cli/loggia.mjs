#!/bin/sh
//usr/bin/env true; d=$(dirname "$(readlink -f "$0")")
//usr/bin/env true; n=$d/../../node_modules/node/bin/node; [ -x "$n" ] || n=node
//usr/bin/env true; exec "$n" "$d/loggia.mjs" "$@"

// The lines above are comments to Node and a program to a shell, which replaces itself by the
// pinned Node, so that signals, kills and the exit code are those of one process.
//
// Starts the command under the Node version that the project pins. Any Node can run this file, but
// only a recent one can run TypeScript.
import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

const NEEDED_MAJOR = 26;
/** Variable with the process id of a launcher that could not be replaced. */
const LAUNCHER = "LOGGIA_LAUNCHER";
const WATCH_MS = 500;

if (Number(process.versions.node.split(".")[0]) >= NEEDED_MAJOR) {
  // The first start caches the compiled code, which makes later starts faster and smaller. If the
  // folder is not writable, every start compiles again.
  const { enableCompileCache } = await import("node:module");
  enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/loggia", import.meta.url)));
  await takeFlags();
  endWithLauncher();
  await import("./main.ts");
} else {
  const pinned = fileURLToPath(new URL("../../node_modules/node/bin/node", import.meta.url));
  // An older pinned Node would start itself forever.
  if (!existsSync(pinned) || realpathSync(pinned) === realpathSync(process.execPath)) {
    console.error(
      `loggia needs Node ${NEEDED_MAJOR} or newer, this is ${process.version}; ` +
        "run npm ci in its folder, which installs it",
    );
    process.exit(1);
  }
  const words = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  if (typeof process.execve === "function") process.execve(pinned, [pinned, ...words], process.env);
  // Windows, and Node before 22.15.
  const env = { ...process.env, [LAUNCHER]: String(process.pid) };
  const child = spawn(pinned, words, { stdio: "inherit", env });
  // Ctrl-C also reaches the child, which is in the same process group; others have to be forwarded.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * Restarts the service in the same process with V8's flags and a limit on malloc arenas, both of
 * which only take effect at process start.
 */
async function takeFlags() {
  if (process.argv[2] !== "start" || process.platform === "win32") return;
  const { nodeFlags } = await import("./node-flags.ts");
  const flags = nodeFlags(process.env, process.execArgv);
  if (flags === null) return;
  const [, script, ...rest] = process.argv;
  process.execve(process.execPath, [process.execPath, ...flags, script, ...rest], {
    MALLOC_ARENA_MAX: "2",
    ...process.env,
  });
}

/** Stops this process if its launcher is killed, as if the launcher could have forwarded it. */
function endWithLauncher() {
  const { [LAUNCHER]: launcher } = process.env;
  if (launcher === undefined) return;
  delete process.env[LAUNCHER];
  const check = () => {
    if (process.ppid !== Number(launcher)) process.kill(process.pid, "SIGTERM");
  };
  setInterval(check, WATCH_MS).unref();
}
