import { randomBytes } from "node:crypto";

import type { Account, Catalog } from "./catalog/catalog.ts";
import { LoggiaError, StartError } from "./errors.ts";
import { type LogKey, parseLogKey } from "./events/event.ts";
import type { Settings } from "./settings.ts";

/** What the first start made; each secret is known only here, and told once. */
export type FirstStart = {
  readonly admin: { readonly email: string; readonly password: string } | null;
  readonly log: { readonly key: LogKey; readonly apiKey: string } | null;
};

const FIRST_EMAIL = "admin@localhost";
const FIRST_LOG = parseLogKey("first-log")!;

/**
 * Makes the admin and the log that the settings name, where they do not exist yet; on an empty catalog an admin and a log
 * in any case, so that somebody can sign in. Processes that start at the same moment agree: the catalog takes each name once.
 *
 * @returns what was made, or null
 */
export async function makeFirstRecords(catalog: Catalog, settings: Settings): Promise<FirstStart | null> {
  const empty = catalog.accounts().length === 0;
  const wanted =
    settings.admin ?? (empty ? { email: FIRST_EMAIL, password: randomBytes(12).toString("base64url") } : null);
  const admin = wanted === null ? null : await makeAdmin(catalog, wanted);
  const log = await makeLog(catalog, settings, empty, admin?.account ?? null);
  const made = { admin: admin?.made === true ? wanted : null, log };
  return made.admin === null && made.log === null ? null : made;
}

async function makeAdmin(
  catalog: Catalog,
  { email, password }: { email: string; password: string },
): Promise<{ account: Account; made: boolean }> {
  const known = catalog.account(email);
  if (known !== null) return { account: known, made: false };
  try {
    return { account: await catalog.createAccount({ email, password, admin: true }), made: true };
  } catch (error) {
    if (!isCode(error, "account_exists")) throw asStartError("LOGGIA_ADMIN", error);
    await catalog.refresh();
    const account = catalog.account(email);
    if (account === null) throw error;
    return { account, made: false };
  }
}

async function makeLog(
  catalog: Catalog,
  settings: Settings,
  empty: boolean,
  admin: Account | null,
): Promise<FirstStart["log"]> {
  const key = settings.log?.key ?? (empty ? FIRST_LOG : null);
  if (key === null || catalog.log(key) !== null) return null;
  const owner = admin ?? catalog.accounts().find((account) => account.admin);
  if (owner === undefined)
    throw new StartError("LOGGIA_LOG names a new log, and there is no admin to own it; set LOGGIA_ADMIN too");
  const apiKey = settings.log?.apiKey;
  try {
    const made = await catalog.createLog({ key, display: key, owner: owner.id, ...(apiKey ? { apiKey } : {}) });
    return { key, apiKey: made.apiKey.secret };
  } catch (error) {
    if (isCode(error, "log_exists")) return null;
    throw asStartError("LOGGIA_LOG", error);
  }
}

function isCode(error: unknown, code: LoggiaError["code"]): boolean {
  return error instanceof LoggiaError && error.code === code;
}

function asStartError(name: string, error: unknown): unknown {
  return error instanceof LoggiaError
    ? new StartError(`${name} can't be carried out: ${error.message}`, { cause: error })
    : error;
}
