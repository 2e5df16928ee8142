import closeWithGrace from "close-with-grace";
import { flushCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { type Logger, pino } from "pino";

import manifest from "../../package.json" with { type: "json" };
import { StartError } from "../errors.ts";
import { createLog, secretSettings } from "../log.ts";
import { type Loggia, startLoggia } from "../main.ts";
import { readSettings, type Settings } from "../settings.ts";
import type { StartOptions } from "../start/options.ts";
import { describe } from "./describe.ts";
import { showSecrets } from "./first-secrets.ts";
import { printableLines } from "./terminal.ts";

/** Longer than the roles' own shutdown limits, so that they time out first and log it. */
const CLOSE_DELAY_MS = 9_500;

const STILL_BUSY =
  "The service did not stop in time and ends as soon as its disk allows, with exit code 1; nothing that it accepted " +
  "is lost, and the next start stores the rest";

/**
 * Heap growth since the last collection that triggers the next one. V8's default depends on the
 * machine's memory, part of which an embedded engine needs.
 */
const HEAP_GROWTH_PERCENT = 100;

/**
 * Runs the service until it is stopped or one of its roles fails. Addresses go to standard output,
 * the log to standard error. A failed start is logged in one line, with exit code 1.
 */
export async function start(environment: NodeJS.ProcessEnv, options: StartOptions = {}): Promise<void> {
  const destination = pino.destination({ dest: 2, sync: true });
  let log = createLog({ level: "info", secrets: [], destination });
  try {
    const settings = readSettings(environment);
    log = createLog({ level: settings.logLevel, secrets: secretSettings(settings), destination });
    await run(settings, log, options);
  } catch (error) {
    reportFailure(error, log);
    process.exit(1);
  }
}

/** Reports a failed start: as a sentence on a terminal, else as a log line. */
function reportFailure(error: unknown, log: Logger): void {
  const isExpected = error instanceof StartError;
  if (isExpected && (process.stderr.isTTY || !log.isLevelEnabled("fatal")))
    console.error(`loggia: ${printableLines(error.message)}`);
  else if (isExpected) log.fatal({ version: manifest.version }, `The start failed: ${error.message}`);
  else log.fatal({ version: manifest.version, err: error }, "The start failed");
}

async function run(settings: Settings, log: Logger, options: StartOptions): Promise<void> {
  const about = { version: manifest.version, roles: [...settings.roles], engines: settings.engines.kind };
  log.info({ ...about, ...(settings.plain.size > 0 && { plain: [...settings.plain] }) }, "Starting");
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  // Files under the data folder hold users' events, so only this user may read them.
  process.umask(0o077);
  let loggia: Loggia | null = null;
  let failure: string | null = null;
  // From here on a signal ends the process cleanly and is logged.
  const onTimeout = () => log.error({ ...about, waited_ms: delay }, STILL_BUSY);
  const drain_ms = settings.drain_s * 1_000;
  const delay = drain_ms + CLOSE_DELAY_MS;
  const grace = closeWithGrace({ delay, logger: false, onTimeout }, async ({ err, signal }) => {
    const reason = err ? "an uncaught error" : (failure ?? signal ?? "a request to stop");
    if (err) log.fatal({ ...about, reason, err }, "Stopping");
    else log.info({ ...about, reason, drain_s: settings.drain_s }, "Stopping");
    if (signal !== undefined && loggia !== null) {
      loggia.announceStop();
      await sleep(drain_ms);
    }
    await loggia?.close();
    log.info({ ...about, reason }, "Stopped");
  });
  const given = { password: settings.admin !== null, apiKey: (settings.log?.apiKey ?? null) !== null };
  const isTerminal = process.stdout.isTTY;
  loggia = await startLoggia(settings, log, {
    ...options,
    show: async (first, { isResumed }) =>
      print(await showSecrets(first, { given, isResumed, isTerminal, folder: settings.data })),
  });
  loggia.done.catch((error: unknown) => {
    failure = "a role failed";
    log.fatal({ ...about, err: error }, "A role failed");
    process.exitCode = 1;
    grace.close();
  });
  const { api, post, listeners, monitoring } = loggia;
  log.info({ ...about, api, post, listeners, ops: monitoring }, "Started");
  console.log(describe({ ...loggia, given: isTerminal ? given : { password: true, apiKey: true } }));
  // By default it is only written at exit, which may be abrupt.
  flushCompileCache();
}

/** Resolves once the text was written. @throws StartError if standard output fails */
function print(text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: Error): void =>
    reject(new StartError(`The first password can't be shown: standard output: ${error.message}`, { cause: error }));
  process.stdout.once("error", fail);
  process.stdout.write(`${text}\n`, (error) => (error ? fail(error) : resolve()));
  return promise.finally(() => process.stdout.off("error", fail));
}
