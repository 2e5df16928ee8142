import { spawn } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";

import { killAfterExit } from "../../infra/engines/guard.ts";
import { environmentOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { PROJECT } from "./support.ts";

const COPIED = ["src", "pipelines", "infra", "package.json", "tsconfig.json"];

/** Replaces a text in a file of the copied project. */
function change(path: string, from: string, to: string): void {
  const text = readFileSync(path, "utf8");
  if (!text.includes(from)) throw new Error(`${path} lacks ${from}`);
  writeFileSync(path, text.replace(from, to));
}

test("the service restarts when its code changes, and the page is rebuilt when its own does", async (t) => {
  const root = temporaryFolder(t);
  for (const name of COPIED) cpSync(join(PROJECT, name), join(root, name), { recursive: true });
  symlinkSync(join(PROJECT, "node_modules"), join(root, "node_modules"));
  const environment = environmentOf("embedded", temporaryFolder(t));
  const child = spawn(process.execPath, [join(root, "infra/dev.ts")], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  killAfterExit(child);
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  const apis = () => [...out.matchAll(/^API +(http:\S+)\/1$/gm)].map(([, url = ""]) => url);
  const first = await until(() => apis()[0], { what: "the service" });
  const page = async (url: string) => (await fetch(url)).text();
  const before = await until(() => page(first), { what: "the page" });
  t.regex(before, /assets\/main\.\w+\.js/);

  change(join(root, "src/web/index.html"), "<title>", "<!-- changed --><title>");
  const html = await until(async () => (await page(first)).includes("<!-- changed -->"), { what: "the changed HTML" });
  t.true(html);
  const script = /\/(assets\/main\.\w+\.js)/.exec(await page(first))?.[1];
  t.true((await page(`${first}/${script}`)).includes("location.reload()"));
  t.is(apis().length, 1, "the page changes without a restart");

  change(join(root, "src/http/headers.ts"), '"no-cache, no-store"', '"no-cache, no-store, private"');
  const second = await until(() => apis()[1], { what: "the service to restart" });
  const { headers } = await until(() => fetch(`${second}/1/logs`), { what: "an answer" });
  t.is(headers.get("cache-control"), "no-cache, no-store, private");

  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await t.notThrowsAsync(exit);
});
