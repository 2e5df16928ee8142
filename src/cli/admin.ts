import { pino } from "pino";

import { openCatalog } from "../engines/catalog.ts";
import { LoggiaError } from "../errors.ts";
import { resetAdmin } from "../operations/reset-admin.ts";
import { readSettings } from "../settings.ts";
import { CommandError } from "./request.ts";
import { printable } from "./terminal.ts";

/**
 * Resets a password in the catalog that the environment names, whether a service runs on it or not.
 * @throws CommandError, StartError
 */
export async function reset(
  given: { email: string | undefined; password: string | undefined },
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const settings = readSettings(environment);
  process.umask(0o077);
  await using closing = new AsyncDisposableStack();
  try {
    const catalog = await openCatalog(settings, pino({ level: "silent" }), closing);
    const { email, password, isDrawn, made } = await resetAdmin(catalog, given);
    const what = made === null ? "" : made === "created" ? " (a new service admin)" : " (a service admin now)";
    return `password of ${printable(email)}${what} set${isDrawn ? `, password: ${password}` : ""}`;
  } catch (error) {
    throw error instanceof LoggiaError ? new CommandError(error.message, { cause: error }) : error;
  }
}
