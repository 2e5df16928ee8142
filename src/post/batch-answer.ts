import type { Body } from "../http/formats.ts";
import { type EventId, idsFrom } from "../events/id.ts";
import type { BatchItem } from "./batch.ts";

/** What became of a batch: the ids of its events, counted from the first, and the faults of those that are error events now. */
export type BatchOutcome = { readonly first: EventId; readonly items: readonly Pick<BatchItem, "fault">[] };

/** The answer in JSON, written by hand as it is long. */
export function batchJson({ first, items }: BatchOutcome): string {
  const rejected = rejectedOf(items);
  const nthId = idsFrom(first);
  const outcomes = items.map(({ fault }, n) =>
    fault === null ? `{"id":"${nthId(n)}"}` : `{"error":{"code":"bad_event","message":${JSON.stringify(fault)}}}`,
  );
  return `{"accepted":${items.length - rejected},"rejected":${rejected},"items":[${outcomes.join(",")}]}`;
}

/** The same for every format. */
export function batchBody(outcome: BatchOutcome): Body {
  const json = (): string => batchJson(outcome);
  return {
    json,
    xml: () => {
      const { accepted, rejected, items } = JSON.parse(json()) as Record<"accepted" | "rejected", number> & {
        items: never[];
      };
      return { root: "results", content: { accepted, rejected, item: items } };
    },
  };
}

function rejectedOf(items: BatchOutcome["items"]): number {
  return items.reduce((sum, { fault }) => sum + (fault === null ? 0 : 1), 0);
}
