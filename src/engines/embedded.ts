import { join, resolve } from "node:path";

import { openSqliteBus } from "../bus/sqlite/sqlite.ts";
import { openClock } from "../clock/persistent-clock.ts";
import { fileMarks } from "../clock/marks.ts";
import { createCatalog } from "../catalog/create.ts";
import { openSqliteDocuments } from "../catalog/documents/sqlite.ts";
import { StartError } from "../errors.ts";
import { backup, STORE_FILE } from "../operations/backup.ts";
import { decisionsInFile } from "../operations/decisions.ts";
import { BUS_FILE, makeFolders } from "../operations/files.ts";
import { marksInFile } from "../operations/marks-file.ts";
import { refuseIncompleteRestore } from "../operations/restore.ts";
import type { Settings } from "../settings.ts";
import { openDuckdbStore } from "../store/duckdb/store.ts";
import { BATCHES, CLOCK, DECISIONS, notifiesHere, MARKS, NOTIFICATIONS, RECLASSIFICATIONS } from "./engines.ts";
import type { EngineParts, Engines } from "./engines.ts";
import { lowerHelperPriority } from "./priority.ts";

/**
 * Opens SQLite and DuckDB in this process, with their files in one folder.
 * @throws StartError if one of them can't be opened
 */
export async function openEmbedded(
  settings: Settings,
  { holds, scheduler, log }: EngineParts,
  closing: AsyncDisposableStack,
): Promise<Engines> {
  const folder = makeFolder(settings.data);
  const clockMarks = fileMarks(join(folder, `${CLOCK}.json`));
  const clock = closing.use(await openClock({ marks: clockMarks, shared: false, holds, log }));
  const bus = closing.use(
    await openSqliteBus({
      file: join(folder, BUS_FILE),
      scheduler,
      clock,
      log,
      keep_ms: settings.busKeep.time_ms,
      keep_bytes: settings.busKeep.size_bytes,
      isStoreInDoubt: () => holds.list().some(({ name }) => name === "store" || name === "bus"),
    }),
  );
  // Yields between changes of the catalog: a fast series of changes must not delay posts, which run
  // on the same thread.
  const catalogDocuments = await openSqliteDocuments({
    file: join(folder, "catalog.sqlite"),
    pause: scheduler.yieldToRequests,
    scheduler,
  });
  const catalog = closing.use(
    await createCatalog({
      documents: catalogDocuments,
      log,
      limits: settings.accountLimits,
      now: clock.trusted,
      isAlone: true,
      scheduler,
    }),
  );
  const store = closing.use(
    await openDuckdbStore({
      file: join(folder, STORE_FILE),
      scheduler,
      log,
      memoryLimit_mb: settings.memory.store_mb,
      filterLimit_mb: settings.memory.filters_mb,
      spillLimit_mb: settings.memory.spilled_mb,
      isPlain: (trick) => settings.plain.has(trick),
    }),
  );
  lowerHelperPriority(log);
  const open = (name: string) => openSqliteDocuments({ file: join(folder, `${name}.sqlite`), name, scheduler });
  const notifications = notifiesHere(settings) ? await open(NOTIFICATIONS) : null;
  const reclassifications = closing.use(await open(RECLASSIFICATIONS));
  const documents = ["catalog.sqlite", `${NOTIFICATIONS}.sqlite`, `${BATCHES}.sqlite`];
  return {
    ports: { bus, catalog, store },
    clock,
    notifications: closing.use(notifications),
    batches: () => open(BATCHES),
    watermarks: null,
    reclassifications,
    marks: marksInFile(join(folder, `${MARKS}.json`), catalogDocuments),
    decisions: decisionsInFile(join(folder, `${DECISIONS}.json`)),
    wals: new Map([
      ...[BUS_FILE, ...documents, `${RECLASSIFICATIONS}.sqlite`].map(
        (name) => [name, join(folder, `${name}-wal`)] as const,
      ),
      [STORE_FILE, join(folder, `${STORE_FILE}.wal`)],
    ]),
    backup: (to, report, signal) => backup({ folder, bus, store, documents, to, report, signal }),
  };
}

function makeFolder(folder: string): string {
  try {
    makeFolders(resolve(folder));
  } catch (error) {
    throw new StartError(
      `LOGGIA_DATA is ${JSON.stringify(folder)}, which can't be created: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
  refuseIncompleteRestore(folder);
  return folder;
}
