import { wellFormed } from "../../src/events/text.ts";
import type { Visit } from "../../src/events/visit.ts";
import type { Store } from "../../src/store/store.ts";
import type { RecordFailure } from "../deadletters/codec.ts";
import { writeWithRetry } from "../retry.ts";
import type { RetryPolicy } from "../retry.ts";
import type { VisitItem } from "../stage.ts";

/**
 * Writes the visits of a write batch and returns the refused ones. Visits bypass the stages of
 * events and are written before them: the position of a batch goes with its last events, when
 * nothing else of the batch is left to write.
 */
export async function track(
  items: readonly VisitItem[],
  { store, retryPolicy }: { readonly store: Pick<Store, "writeVisits" | "ping">; readonly retryPolicy: RetryPolicy },
): Promise<readonly RecordFailure[]> {
  if (items.length === 0) return [];
  const rejected = await writeWithRetry<VisitItem>(
    {
      what: "write visits",
      groups: [items],
      write: (group) => store.writeVisits(group.map(({ visit }) => clean(visit))),
      ping: () => store.ping(),
    },
    retryPolicy,
  );
  return [...rejected].map(([{ record, line }, reason]) => ({ record, line, reason }));
}

/** Replaces ill-formed UTF-16, which not every engine can store. */
function clean(visit: Visit): Visit {
  return { ...visit, user: wellFormed(visit.user), email: wellFormed(visit.email), page: wellFormed(visit.page) };
}
