import type { Logger } from "pino";

import { createDeadLetters } from "../../pipelines/deadletters/redrive.ts";
import type { Locate } from "../../pipelines/enrich/enrich.ts";
import { rebuild } from "../../pipelines/replay/rebuild.ts";
import { NOTHING_READ, replay } from "../../pipelines/replay/replay.ts";
import type { DeletionLog } from "../bus/deletions.ts";
import type { Engines, Ports } from "../engines/engines.ts";
import type { OpenLines } from "../events/lines.ts";
import type { Holds } from "../monitoring/holds.ts";
import type { Continuity } from "../operations/continuity.ts";
import { createJob } from "../operations/job.ts";
import type { BackupProgress, Operations, ReplayOrder, ReplayProgress } from "../operations/operations.ts";
import type { Store } from "../store/store.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

type OperationParts = {
  readonly now: () => number;
  readonly copy: Engines["backup"];
  readonly holds: Holds;
  readonly continuity: Continuity | null;
  readonly locating: { readonly locate?: Locate };
  readonly openLines: OpenLines;
  readonly scheduler: Scheduler;
  readonly log: Logger;
  readonly closing: AsyncDisposableStack;
};

/** Creates the operations that the management API offers to operators. */
export function createOperations(
  ports: Ports,
  deletions: DeletionLog,
  { now, copy, holds, continuity, locating, openLines, scheduler, log, closing }: OperationParts,
): Operations {
  const rebuilds = canRebuild(ports.store);
  const replays = createJob<ReplayOrder, ReplayProgress>({
    name: "a replay",
    log,
    none: { ...NOTHING_READ, rebuild: null },
    run: async ({ since, into }, report, signal) => {
      const options = { ...ports, ...locating, openLines, scheduler, now, log, since, signal };
      await continuity?.compare();
      const progress =
        into === "new" && canRebuild(ports.store)
          ? await rebuild({ ...options, store: ports.store, report })
          : {
              ...(await replay({ ...options, report: (read) => report({ ...read, rebuild: null }) })),
              rebuild: null,
            };
      if (since === 0) await continuity?.replayed();
      return progress;
    },
  });
  closing.defer(() => replays.close());
  const deadLetters = createDeadLetters({ ...ports, deletions });
  if (copy === null) return { deadLetters, holds, replay: replays, rebuilds, backup: null };
  const backups = createJob<{ to: string }, BackupProgress>({
    name: "a backup",
    log,
    none: { files: [] },
    run: ({ to }, report, signal) => copy(to, report, signal),
  });
  closing.defer(() => backups.close());
  return { deadLetters, holds, replay: replays, rebuilds, backup: backups };
}

function canRebuild(store: Store): store is Store & Required<Pick<Store, "rebuild">> {
  return store.rebuild !== undefined;
}
