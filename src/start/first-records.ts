import type { Logger } from "pino";

import type { Catalog } from "../catalog/catalog.ts";
import { type FirstStart, createFirstRecords, type ShowFirstStart } from "../bootstrap.ts";
import type { Holds } from "../monitoring/holds.ts";
import type { Continuity } from "../operations/continuity.ts";
import type { Settings } from "../settings.ts";
import { requireLogs } from "./listeners.ts";

type FirstRecordsParts = {
  readonly continuity: Continuity | null;
  readonly holds: Holds;
  readonly show: ShowFirstStart;
  readonly log: Logger;
  readonly closing: AsyncDisposableStack;
};

/**
 * Creates the first records once the comparison has shown that the catalog lost nothing, or an
 * operator has accepted a loss. A process that only accepts posts makes no comparison and creates
 * none.
 */
export async function startFirstRecords(
  catalog: Catalog,
  settings: Settings,
  { continuity, holds, show, log, closing }: FirstRecordsParts,
): Promise<FirstStart | null> {
  if (continuity === null) return null;
  const check = (first: FirstStart): void => {
    if (settings.roles.has("post")) requireLogs(settings.listeners, catalog, first.log?.key);
  };
  const create = () => createFirstRecords(catalog, settings, { show, check, log });
  const isHeld = holds.list().some(({ name }) => name === "catalog");
  if (continuity.fault() === null && !isHeld) return await withTicket(catalog, settings, await create());
  const createLater = async (): Promise<void> => {
    await continuity.compared;
    await holds.gone("catalog");
    if (!closing.disposed) await create();
  };
  void createLater().catch((error: unknown) => log.error({ err: error }, "the first records could not be created"));
  return null;
}

/**
 * Adds a ticket for the admin's first sign-in on the page. If the operator chose the password, no
 * ticket is created, as the output may be stored as a log.
 */
async function withTicket(
  catalog: Pick<Catalog, "account" | "createStartTicket">,
  { admin, roles }: Pick<Settings, "admin" | "roles">,
  first: FirstStart | null,
): Promise<FirstStart | null> {
  const account = first?.admin ? catalog.account(first.admin.email) : null;
  if (first === null || account === null || admin !== null || !roles.has("api")) return first;
  return { ...first, ticket: await catalog.createStartTicket(account.id) };
}
