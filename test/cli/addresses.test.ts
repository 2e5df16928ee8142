import test, { type ExecutionContext } from "ava";
import { execFile } from "node:child_process";
import { resolve } from "node:path";

import { parseBase } from "../../src/cli/addresses.ts";
import { ADMIN, get, KEY, LOG, type Service, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const ROOT = resolve(import.meta.dirname, "../..");

type Run = { readonly code: number; readonly out: string; readonly err: string };

function run(program: string, words: readonly string[], env: Record<string, string>, input = ""): Promise<Run> {
  return new Promise((done) => {
    const child = execFile(program, words, { cwd: ROOT, env: { ...process.env, ...env } }, (error, out, err) => {
      done({ code: error === null ? 0 : Number(error.code), out, err });
    });
    // A command that fails at once does not read its input.
    child.stdin?.on("error", () => {}).end(input);
  });
}

const loggia = (words: readonly string[], env: Record<string, string>, input?: string) =>
  run(process.execPath, ["src/cli/loggia.mjs", ...words], env, input);

/** Returns the settings of the service as its operator exports them. */
function settingsOf({ api, post }: Service): Record<string, string> {
  return {
    LOGGIA_API: `127.0.0.1:${api?.port}`,
    LOGGIA_POST: `127.0.0.1:${post?.port}`,
    LOGGIA_AS: `${ADMIN.email}:${ADMIN.password}`,
    LOGGIA_KEY: KEY,
  };
}

/** Asserts that the status shows a service as ready, once neither of them stalls. */
async function shownAsReady(
  t: ExecutionContext,
  url: string,
  words: readonly string[],
  env: Record<string, string>,
): Promise<void> {
  const command = ["infra/engines.ts", "status", ...words];
  const ready = new RegExp(`Loggia +${url} is ready$`, "m");
  const status = () => run(process.execPath, command, { ...env, ENGINES_DIR: temporaryFolder(t) });
  await t.notThrowsAsync(until(async () => ready.test((await status()).out), { what: `${url} to be shown` }));
}

for (const [text, base] of [
  ["127.0.0.1:8080", "http://127.0.0.1:8080/"],
  ["loggia.example.org:80", "http://loggia.example.org/"],
  ["[::1]:8080", "http://[::1]:8080/"],
  ["0.0.0.0:8080", "http://127.0.0.1:8080/"],
  ["[::]:8080", "http://[::1]:8080/"],
  ["http://127.0.0.1:8080/1/", "http://127.0.0.1:8080/"],
  ["https://example.org/loggia/1", "https://example.org/loggia"],
] as const) {
  test(`the address ${text} is read like the service's settings or a URL`, (t) => {
    t.is(parseBase("LOGGIA_API", text).href, base);
  });
}

for (const text of ["nonsense", "ftp://127.0.0.1", "127.0.0.1:0", "http://127.0.0.1:0"]) {
  test(`the address ${text} is refused with the name of its option and setting`, (t) => {
    t.throws(() => parseBase("LOGGIA_POST", text), { message: /^--post \(or LOGGIA_POST\) is "/ });
  });
}

test("every command uses LOGGIA_API and LOGGIA_POST as the service reads them", async (t) => {
  const service = await serviceOf(t, "embedded");
  const env = settingsOf(service);
  t.like(await loggia(["log", "list"], env), { code: 0, err: "" });
  t.like(await loggia(["deadletters", "list"], env), { code: 0, err: "" });
  t.like(await loggia(["replay", "start"], env), { code: 0, err: "" });
  t.like(await loggia(["backup", `${temporaryFolder(t)}/copy`], env), { code: 0, err: "" });
  t.like(await loggia(["ship", "--log", LOG], env, "one\n"), { code: 0, out: "posted 1, failed 0, retried 0\n" });
  await shownAsReady(t, `http://${env["LOGGIA_API"]}`, [], env);
});

test("--api, --post and --url override the environment", async (t) => {
  const service = await serviceOf(t, "embedded");
  const nowhere = { ...settingsOf(service), LOGGIA_API: "127.0.0.1:1", LOGGIA_POST: "127.0.0.1:1" };
  const { LOGGIA_API: api = "", LOGGIA_POST: post = "" } = settingsOf(service);
  t.like(await loggia(["log", "list", "--api", api], nowhere), { code: 0, err: "" });
  t.is((await loggia(["ship", "--log", LOG, "--post", post], nowhere, "one\n")).code, 0);
  t.is((await loggia(["ship", "--log", LOG, "--url", `http://${post}/1`], nowhere, "two\n")).code, 0);
  await until(async () => ((await get(service, `/1/logs/${LOG}/events`)).body as unknown[]).length === 2, {
    what: "both events",
  });
  await shownAsReady(t, `http://${api}`, ["--api", api], nowhere);
  // A process that only takes posts has no API.
  await shownAsReady(t, `http://${post}`, ["--post", post], nowhere);
});

test("make passes API and POST to its commands", async (t) => {
  const recipe = async (...words: string[]) =>
    (await run("make", ["--dry-run", "--assume-old=node_modules/.installed", ...words], {})).out;
  for (const target of ["deadletters", "replay FROM=start", "backup TO=/copy", "status"]) {
    t.regex(await recipe(...target.split(" "), "API=127.0.0.1:9"), /--api "127\.0\.0\.1:9"/, target);
  }
  t.regex(await recipe("status", "POST=127.0.0.1:9"), /--post "127\.0\.0\.1:9"/);
});
