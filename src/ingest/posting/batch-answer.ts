import type { Body } from "../../http/formats.ts";
import { type EventId, idsFrom } from "../../events/id.ts";
import type { Batch } from "./batch-faults.ts";

/** Result of a batch. The ids of its lines are derived from the first. */
export type BatchOutcome = Batch & { readonly first: EventId };

/** Returns the JSON response. It is built by hand, because it is long. */
export function batchJson({ first, items, accepted, rejected }: BatchOutcome): string {
  const nthId = idsFrom(first);
  let at = 0;
  const outcomes = items.map(({ line, fault }) => {
    const place = line === null ? 0 : at++;
    return fault === null
      ? `{"id":"${nthId(place)}"}`
      : `{"error":{"code":"bad_event","message":${JSON.stringify(fault)}}}`;
  });
  return `{"accepted":${accepted},"rejected":${rejected},"items":[${outcomes.join(",")}]}`;
}

/** Returns the response in every format. */
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
