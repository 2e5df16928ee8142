import { pino } from "pino";

import { openCatalog } from "../engines/catalog.ts";
import { openDecisions } from "../engines/decisions.ts";
import { LoggiaError } from "../errors.ts";
import { HOLDS } from "../monitoring/holds.ts";
import { resetAdmin } from "../operations/reset-admin.ts";
import { readSettings, type Settings } from "../settings.ts";
import { CommandError } from "./request.ts";
import { printable } from "./terminal.ts";

const SILENT = pino({ level: "silent" });

/**
 * Resets a password in the catalog named by the environment, whether or not a service is running.
 * @throws CommandError, StartError
 */
export async function reset(
  given: { email: string | undefined; password: string | undefined },
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  return onMachine(environment, async (settings, closing) => {
    const catalog = await openCatalog(settings, SILENT, closing);
    const { email, password, isGenerated, made } = await resetAdmin(catalog, given);
    const what = made === null ? "" : made === "created" ? " (a new service admin)" : " (now a service admin)";
    return `password of ${printable(email)}${what} set${isGenerated ? `, password: ${password}` : ""}`;
  });
}

/**
 * Accepts a hold without the API, in every process that uses the engines named by the environment.
 * @throws CommandError, StartError
 */
export async function acceptHold(word: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const name = HOLDS.find((known) => known === word);
  if (name === undefined)
    throw new CommandError(`There is no hold ${JSON.stringify(word)}; it must be one of ${HOLDS.join(", ")}`);
  return onMachine(environment, async (settings, closing) => {
    await (await openDecisions(settings, SILENT, closing)).add(name);
    return `${name} accepted: running processes with this hold continue within a few seconds, and log it`;
  });
}

/** Runs a command on the service's engines. Files it creates are readable by this user only. */
async function onMachine(
  environment: NodeJS.ProcessEnv,
  work: (settings: Settings, closing: AsyncDisposableStack) => Promise<string>,
): Promise<string> {
  const settings = readSettings(environment);
  process.umask(0o077);
  await using closing = new AsyncDisposableStack();
  try {
    return await work(settings, closing);
  } catch (error) {
    throw error instanceof LoggiaError ? new CommandError(error.message, { cause: error }) : error;
  }
}
