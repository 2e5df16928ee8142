import type { ClassFilter } from "../../src/catalog/catalog.ts";
import { fold } from "../../src/events/text.ts";
import type { Subject } from "./matcher.ts";

/** Filters that are looked at between two pauses. */
const STEP_FILTERS = 128;

/** What a matcher of these filters answers, found by looking at one after the other. */
export async function classByLoop(
  filters: readonly ClassFilter[],
  event: Subject,
  pause: () => Promise<void>,
): Promise<string | null> {
  // Texts of the event are taken before the first pause: what happens to it meanwhile is of no
  // effect.
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

/** Whether the first gives the class where both match. */
export function isBefore(one: ClassFilter, other: ClassFilter): boolean {
  return one.weight > other.weight || (one.weight === other.weight && one.key < other.key);
}
