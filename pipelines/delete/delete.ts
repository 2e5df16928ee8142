import type { Store } from "../../src/store/store.ts";
import type { RecordFailure } from "../deadletters/codec.ts";
import { writeWithRetry } from "../retry.ts";
import type { RetryPolicy } from "../retry.ts";
import type { DeletionItem } from "../stage.ts";

/**
 * Carries out the deletions of a write batch and returns the refused ones. A deletion may precede
 * the write of its target: it leaves a marker with which later creates conflict.
 */
export async function carryOutDeletions(
  items: readonly DeletionItem[],
  { store, retryPolicy }: { readonly store: Pick<Store, "writeDeletions" | "ping">; readonly retryPolicy: RetryPolicy },
): Promise<readonly RecordFailure[]> {
  if (items.length === 0) return [];
  const rejected = await writeWithRetry<DeletionItem>(
    {
      what: "write deletions",
      groups: [items],
      write: (group) => store.writeDeletions(group.map(({ deletion }) => deletion)),
      ping: () => store.ping(),
    },
    retryPolicy,
  );
  return [...rejected].map(([{ record, line }, reason]) => ({ record, line, reason }));
}
