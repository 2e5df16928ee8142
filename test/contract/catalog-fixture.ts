import type { ExecutionContext } from "ava";
import { pino } from "pino";

import type { Catalog, ClassFilter } from "../../src/catalog/catalog.ts";
import { createCatalog } from "../../src/catalog/create.ts";
import { DEFAULT_ACCOUNT_LIMITS } from "../../src/catalog/quotas.ts";
import type { ErrorCode } from "../../src/errors.ts";
import { LoggiaError } from "../../src/errors.ts";
import type { LogKey, UserId } from "../../src/events/event.ts";
import { parseLogKey } from "../../src/events/event.ts";
import type { DocumentsStorage } from "./documents-adapters.ts";

export const PASSWORD = "correct horse";

export const SHOP = parseLogKey("shop")!;

/** Time within which every process sees a change of another one, in milliseconds. */
export const SEEN_MS = 2000;

/** Opens the catalog as a process of its own. @param now its clock; the machine's by default */
export type Start = (now?: () => number) => Promise<Catalog>;

export async function addAccount(catalog: Catalog, email: string, password = PASSWORD): Promise<UserId> {
  return (await catalog.createAccount({ email, password, admin: false })).id;
}

export async function addLog(catalog: Catalog, key: LogKey, email: string): Promise<{ owner: UserId; secret: string }> {
  const owner = await addAccount(catalog, email);
  const { apiKey } = await catalog.createLog({ key, display: "A log", owner });
  return { owner, secret: apiKey.secret };
}

export function filterOf(key: string, change: Partial<ClassFilter> = {}): ClassFilter {
  return { key, display: "", color: "red", tag: key, text: "", link: "", source: "", weight: 0, ...change };
}

export async function fails(
  t: ExecutionContext,
  code: ErrorCode,
  work: Promise<unknown>,
  message = /./,
): Promise<void> {
  const error = await t.throwsAsync(work, { instanceOf: LoggiaError, message });
  t.is(error.code, code, error.message);
}

export async function open(
  t: ExecutionContext,
  storage: DocumentsStorage,
  limits = DEFAULT_ACCOUNT_LIMITS,
  now: () => number = Date.now,
): Promise<Catalog> {
  const documents = await storage.connect();
  const catalog = await createCatalog({ documents, log: pino({ level: "silent" }), limits, now });
  t.teardown(() => catalog[Symbol.asyncDispose]());
  return catalog;
}
