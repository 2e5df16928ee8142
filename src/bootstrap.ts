import { randomBytes } from "node:crypto";
import type { Logger } from "pino";

import type { Account } from "./auth/principals.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { generateApiKey } from "./auth/secrets.ts";
import { LoggiaError, StartError } from "./errors.ts";
import { type LogKey, parseLogKey } from "./events/event.ts";
import type { Settings } from "./settings.ts";

/** Records made by the first start. The secrets are known only here and are shown once. */
export type FirstStart = {
  readonly admin: { readonly email: string; readonly password: string } | null;
  readonly log: { readonly key: LogKey; readonly apiKey: string } | null;
  /** Signs the admin in, once. */
  readonly ticket?: string | null;
};

/**
 * Shows the secrets to the operator, and resolves once they are written. `isResumed`: an earlier
 * first start was interrupted.
 */
export type ShowFirstStart = (first: FirstStart, start: { readonly isResumed: boolean }) => Promise<void>;

type FirstRecordsOptions = {
  readonly show: ShowFirstStart;
  /** Throws a StartError if the start would fail with these records, before they are shown. */
  readonly check?: (first: FirstStart) => void;
  readonly log: Logger;
  readonly takeOver_ms?: number;
};

/**
 * How long the first start of another process may take before it counts as interrupted. Embedded
 * engines belong to one process, so an unfinished first start was certainly interrupted.
 */
const TAKE_OVER_MS = { embedded: 0, cluster: 15_000 } as const;

const FIRST_EMAIL = "admin@localhost";
const FIRST_LOG = parseLogKey("first-log")!;

/**
 * Creates the admin and the log of the settings if the store has no accounts. Secrets are shown
 * before they are stored, so that a process killed at any moment leaves no account with an unknown
 * password. If several processes start at once, only one does this.
 *
 * @returns the records made, or null
 * @throws StartError if the settings cannot be carried out
 */
export async function createFirstRecords(
  catalog: Catalog,
  settings: Pick<Settings, "admin" | "log" | "engines">,
  { show, check = () => {}, log, takeOver_ms }: FirstRecordsOptions,
): Promise<FirstStart | null> {
  const first = await catalog.firstStart(
    async ({ isResumed }) => {
      const missing = missingRecords(catalog, settings);
      if (missing.admin === null && missing.log === null) return null;
      check(missing);
      await show(missing, { isResumed });
      const account = missing.admin === null ? null : await createAdmin(catalog, missing.admin);
      if (missing.log !== null) await createFirstLog(catalog, missing.log, account);
      return missing;
    },
    { takeOver_ms: takeOver_ms ?? TAKE_OVER_MS[settings.engines.kind] },
  );
  if (first === null) logIgnored(catalog, settings, log);
  return first;
}

/** Returns the missing records: all of them, or those that an interrupted start did not make. */
function missingRecords(catalog: Catalog, settings: Pick<Settings, "admin" | "log">): FirstStart {
  const generated = { email: FIRST_EMAIL, password: randomBytes(12).toString("base64url") };
  const key = settings.log?.key ?? FIRST_LOG;
  return {
    admin: catalog.accounts().length === 0 ? (settings.admin ?? generated) : null,
    log: catalog.log(key) === null ? { key, apiKey: settings.log?.apiKey ?? generateApiKey() } : null,
  };
}

async function createAdmin(catalog: Catalog, admin: { email: string; password: string }): Promise<Account> {
  try {
    return await catalog.createAccount({ ...admin, admin: true });
  } catch (error) {
    throw asStartError("LOGGIA_ADMIN", error);
  }
}

async function createFirstLog(
  catalog: Catalog,
  { key, apiKey }: { key: LogKey; apiKey: string },
  created: Account | null,
): Promise<void> {
  const owner = created ?? catalog.accounts().find((account) => account.admin);
  if (owner === undefined)
    throw new StartError(
      "The first log needs an admin to own it, and there is none; create one with loggia admin reset",
    );
  try {
    await catalog.createLog({ key, display: key, owner: owner.id, apiKey });
  } catch (error) {
    throw asStartError("LOGGIA_LOG", error);
  }
}

/**
 * Logs settings that have no effect. A forgotten setting must not restore a deleted account, and
 * the operator must not believe that it did.
 */
function logIgnored(catalog: Catalog, { admin, log: wanted }: Pick<Settings, "admin" | "log">, log: Logger): void {
  const ignored = [
    ...(admin === null ? [] : ["LOGGIA_ADMIN"]),
    ...(wanted === null || catalog.log(wanted.key) !== null ? [] : ["LOGGIA_LOG"]),
  ];
  if (ignored.length === 0) return;
  log.info(
    { ignored },
    `${ignored.join(" and ")} ignored: the store has accounts already. ` +
      "`loggia admin reset` sets a forgotten password, `loggia log add` creates a log",
  );
}

function asStartError(name: string, error: unknown): unknown {
  if (!(error instanceof LoggiaError)) return error;
  if (error.code === "account_exists" || error.code === "log_exists")
    return new StartError(
      `Another process created the first records meanwhile, so those shown above are not valid: ${error.message}`,
      { cause: error },
    );
  return new StartError(`${name} cannot be applied: ${error.message}`, { cause: error });
}
