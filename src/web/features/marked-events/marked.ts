import type { EventRecord } from "../../parts/api/types.ts";
import type { Shortcut } from "../../parts/keys/registry.ts";
import { rowOfRecord } from "../../parts/rows/row.ts";
import type { ListedEvent } from "../../parts/rows/row.ts";

/** An event of a list across logs. */
export type MarkedEvent = ListedEvent & { readonly log: string };

export function markedOfRecord(record: EventRecord): MarkedEvent {
  return { ...rowOfRecord(record), log: record.log };
}

/** The action that removes an event from the list. */
export type RemovalAction = {
  readonly icon: "tick" | "bookmark";
  readonly label: string;
  readonly key: string;
  readonly bound: (act: () => void) => Shortcut;
  readonly act: (event: MarkedEvent) => void;
};

/** The log and class that a list is narrowed to; null for all. */
export type Narrowing = { readonly log: string | null; readonly class: string | null };

export function narrowedEvents(events: readonly MarkedEvent[], by: Narrowing): readonly MarkedEvent[] {
  return events.filter(
    (event) => (by.log === null || event.log === by.log) && (by.class === null || event.class === by.class),
  );
}

export type ValueCount = { readonly value: string; readonly count: number };

/** Counts the values of a field under the other field's narrowing, most frequent first. */
export function valueCounts(
  events: readonly MarkedEvent[],
  field: keyof Narrowing,
  by: Narrowing,
): readonly ValueCount[] {
  const counts = new Map<string, number>();
  for (const { [field]: value } of narrowedEvents(events, { ...by, [field]: null }))
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  // The chosen value stays listed.
  const chosen = by[field];
  if (chosen !== null && !counts.has(chosen)) counts.set(chosen, 0);
  return Array.from(counts, ([value, count]) => ({ value, count })).sort(
    (a, b) => b.count - a.count || (a.value < b.value ? -1 : 1),
  );
}

export type MarkedDay = { readonly day: string; readonly events: readonly MarkedEvent[] };

/** Groups events by day, in their order. @param dayOf returns the day of a moment in words */
export function byDay(events: readonly MarkedEvent[], dayOf: (ms: number) => string): readonly MarkedDay[] {
  const days: { day: string; events: MarkedEvent[] }[] = [];
  for (const event of events) {
    const day = dayOf(event.created);
    const last = days.at(-1);
    if (last?.day === day) last.events.push(event);
    else days.push({ day, events: [event] });
  }
  return days;
}

/** Returns the event to select after one is removed: the next, else the previous one. */
export function successorId(events: readonly MarkedEvent[], id: string): string | null {
  const index = events.findIndex((event) => event.id === id);
  return (events[index + 1] ?? events[index - 1])?.id ?? null;
}

/** Reports whether new events precede one in the list. */
export function isPrecededByNew(events: readonly MarkedEvent[], before: readonly MarkedEvent[], id: string): boolean {
  const known = new Set(before.map((event) => event.id));
  const index = events.findIndex((event) => event.id === id);
  return events.slice(0, Math.max(0, index)).some((event) => !known.has(event.id));
}

/** The event that a step starts from. */
export type StepStart = { readonly id: string; readonly created: number } | null;

/** Returns the bookmark a step away, newest first: older by 1, newer by -1; null at the ends. */
export function bookmarkBeside(bookmarks: readonly MarkedEvent[], from: StepStart, step: 1 | -1): MarkedEvent | null {
  if (from === null) return (step === 1 ? bookmarks[0] : bookmarks.at(-1)) ?? null;
  const isOlder = ({ created, id }: MarkedEvent) =>
    created < from.created || (created === from.created && id < from.id);
  if (step === 1) return bookmarks.find(isOlder) ?? null;
  return bookmarks.findLast((each) => each.id !== from.id && !isOlder(each)) ?? null;
}
