#!/usr/bin/env node
// Starts the command under the Node version that the project pins. Any Node can run this file, but
// only a recent one can run TypeScript.
import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

const NEEDED_MAJOR = 26;

if (Number(process.versions.node.split(".")[0]) >= NEEDED_MAJOR) {
  // The first start caches the compiled code, which makes later starts faster and smaller. If the
  // folder is not writable, every start compiles again.
  const { enableCompileCache } = await import("node:module");
  enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/loggia", import.meta.url)));
  await takeFlags();
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
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  // Ctrl-C also reaches the child, which is in the same process group; SIGTERM has to be forwarded.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 143)));
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
