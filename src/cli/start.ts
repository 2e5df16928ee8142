import closeWithGrace from "close-with-grace";
import { flushCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";
import { pino } from "pino";

import { createLog, secretsOf } from "../log.ts";
import { type Loggia, startLoggia } from "../main.ts";
import { readSettings, type Address } from "../settings.ts";

/** Longer than the roles may take to finish, so that they are cut off by their own clocks and say so. */
const CLOSE_DELAY_MS = 9_500;

/** By how much the heap may have grown since the last collection when the next one begins. V8's own rule goes by the memory of the machine, of which an embedded engine wants some, and lets 200 MB more lie about. */
const HEAP_GROWTH_PERCENT = 100;

/** Runs the service until it is told to stop, or one of its roles dies. Addresses go to standard output, the log to standard error. */
export async function start(environment: NodeJS.ProcessEnv): Promise<void> {
  const settings = readSettings(environment);
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  // What is made under the data folder holds everybody's events: it is for this user alone.
  process.umask(0o077);
  const destination = pino.destination({ dest: 2, sync: true });
  const log = createLog({ level: settings.logLevel, secrets: secretsOf(settings), destination });
  const loggia = await startLoggia(settings, log);
  const grace = closeWithGrace({ delay: CLOSE_DELAY_MS, logger: false }, async ({ err, signal }) => {
    if (err) log.fatal({ err }, "stopping after an error that nobody caught");
    else if (signal) log.debug({ signal }, "stopping");
    await loggia.close();
  });
  loggia.done.catch((error: unknown) => {
    log.fatal({ err: error }, "a role has died; stopping");
    process.exitCode = 1;
    grace.close();
  });
  // Who reads the addresses may stop the process at once: from here on it ends in good order.
  console.log(
    describe({
      ...loggia,
      given: { password: settings.admin !== null, apiKey: (settings.log?.apiKey ?? null) !== null },
    }),
  );
  // By itself it is written at the end, which may be a sudden one.
  flushCompileCache();
}

/** Which secrets the operator gave. They are not told: what is printed may be kept as a log. */
type Given = { readonly password: boolean; readonly apiKey: boolean };
const NOTHING_GIVEN: Given = { password: false, apiKey: false };

/** What an operator needs to see at a start; after the first one also the secrets that it drew, this once, and two lines to try. */
export function describe({
  api,
  post,
  monitoring = null,
  first,
  given = NOTHING_GIVEN,
}: Pick<Loggia, "api" | "post" | "first"> & Partial<Pick<Loggia, "monitoring">> & { readonly given?: Given }): string {
  const password = given.password ? "PASSWORD" : first?.admin?.password;
  const apiKey = given.apiKey ? "KEY" : first?.log?.apiKey;
  const lines: string[] = [];
  if (api !== null) lines.push(`API      ${urlOf(api)}/1`);
  if (post !== null) lines.push(`posting  ${urlOf(post)}/1`);
  if (monitoring !== null)
    lines.push(`health   ${urlOf(monitoring)}/health/ready`, `metrics  ${urlOf(monitoring)}/metrics`);
  if (first !== null) lines.push("", "First start. This is shown once:");
  if (first?.admin)
    lines.push(
      `  admin     ${first.admin.email}`,
      `  password  ${given.password ? "as LOGGIA_ADMIN gives it" : password}`,
    );
  if (first?.log)
    lines.push(`  log       ${first.log.key}`, `  API key   ${given.apiKey ? "as LOGGIA_LOG gives it" : apiKey}`);
  if (first?.log && post !== null) {
    const url = `${urlOf(post)}/1/logs/${first.log.key}/events`;
    lines.push(
      "",
      "Post an event:",
      `  curl ${quote(url)} -d apikey=${quote(apiKey!)} -d text='Hello, Loggia' -d tags=hello -d value=1`,
    );
  }
  if (first?.log && first.admin && api !== null) {
    const url = `${urlOf(api)}/1/logs/${first.log.key}/events`;
    lines.push("", "Read it:", `  curl -u ${quote(`${first.admin.email}:${password}`)} ${quote(url)}`);
  }
  return lines.join("\n");
}

function urlOf({ host, port }: Address): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A word for a POSIX shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
