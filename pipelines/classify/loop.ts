import type { ClassFilter } from "../../src/catalog/catalog.ts";
import { fold } from "../../src/events/text.ts";
import type { Subject } from "./matcher.ts";

/** Number of filters tested between two pauses. */
const STEP_FILTERS = 128;

/** Returns what a matcher of these filters would return, by testing one filter after the other. */
export async function classByLoop(
  filters: readonly ClassFilter[],
  event: Subject,
  pause: () => Promise<void>,
): Promise<string | null> {
  // The fields are read before the first pause, so that later changes of the event have no effect.
  const text = fold(event.text);
  const link = fold(event.link);
  const source = fold(event.source);
  const tags = new Set(event.tags.map(fold));
  const matches = (filter: ClassFilter): boolean =>
    (filter.tag === "" || tags.has(fold(filter.tag))) &&
    (filter.source === "" || fold(filter.source) === source) &&
    text.includes(fold(filter.text)) &&
    link.includes(fold(filter.link));
  let best: ClassFilter | null = null;
  for (let i = 0; i < filters.length; i++) {
    if (i % STEP_FILTERS === STEP_FILTERS - 1) await pause();
    const filter = filters[i]!;
    if ((best === null || isBefore(filter, best)) && matches(filter)) best = filter;
  }
  return best?.key ?? null;
}

/** Whether the first filter takes precedence if both match. */
export function isBefore(one: ClassFilter, other: ClassFilter): boolean {
  return one.weight > other.weight || (one.weight === other.weight && one.key < other.key);
}
