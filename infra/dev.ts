/**
 * Runs the service on embedded engines for development: `node infra/dev.ts`. It restarts when one of
 * its modules changes; the page is rebuilt, and reloads itself, when one of its sources changes.
 */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

import { nodeFlags } from "../src/cli/node-flags.ts";
import { DEV_PAGE } from "./dev/page-folder.ts";
import { watchPage } from "./page.ts";

const SERVICE = join(import.meta.dirname, "dev/service.ts");
const SOURCE = join(import.meta.dirname, "../src");
/** Where the command keeps its compiled code too. */
const COMPILE_CACHE = join(import.meta.dirname, "../node_modules/.cache/loggia");
const PIPELINES = join(import.meta.dirname, "../pipelines");

/**
 * Reloads the page once the service serves another version of it. It asks instead of being told, so
 * that a service that is restarting needs no second way.
 */
const RELOAD = `{
  const read = () => fetch("/", { cache: "no-store" }).then((answer) => answer.text());
  const loaded = read();
  const timer = setInterval(async () => {
    try {
      if ((await read()) === (await loaded)) return;
      clearInterval(timer);
      location.reload();
    } catch {
      // The service is restarting.
    }
  }, 500);
}`;

await using stack = new AsyncDisposableStack();
const page = await watchPage(DEV_PAGE, RELOAD);
stack.defer(() => page.dispose());

const flags = nodeFlags(process.env, process.execArgv) ?? process.execArgv;
// By folder and not by import: the service switches the reports of imports off.
const folders = readdirSync(SOURCE, { withFileTypes: true }).filter(({ name }) => name !== "web");
const watched = [...folders.map(({ name }) => join(SOURCE, name)), PIPELINES].map((path) => `--watch-path=${path}`);
const child = spawn(process.execPath, ["--watch", "--watch-preserve-output", ...watched, ...flags, SERVICE], {
  stdio: "inherit",
  env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env },
});
// A terminal sends Ctrl-C to the child too.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
const { promise, resolve } = Promise.withResolvers<number>();
child.once("exit", (code, signal) => resolve(code ?? (signal === "SIGINT" ? 130 : 143)));
process.exitCode = await promise;
