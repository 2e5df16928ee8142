import { HOUR_MS, MINUTE_MS, MOMENT_LIMIT, addDays, addMonths, startOfDay } from "./calendar.ts";
import { readDate } from "./dates.ts";
import { queryFault } from "./fault.ts";
import type { Occurs, Step, When } from "./syntax.ts";
import type { Zone } from "./zone.ts";

/** What the moments of a query are relative to. */
export type WhenContext = { readonly text: string; readonly now_ms: number; readonly zone: Zone };

/** A whole day, given by its first moment, or one moment. */
export type Moment =
  { readonly kind: "day"; readonly start: number } | { readonly kind: "moment"; readonly at: number };

/** From (inclusive) to (exclusive); null: unbounded. */
type OccursSpan = { readonly from: number; readonly to: number | null };

/** Returns the range of an OCCURS clause: a day, from a moment on, or between two moments. */
export function spanOfOccurs(context: WhenContext, { from: first, to: last }: Occurs): OccursSpan {
  const from = readWhen(context, first);
  if (last !== null) return { from: firstMoment(from), to: firstMoment(readWhen(context, last)) };
  return { from: firstMoment(from), to: from.kind === "day" ? dayEnd(from, context) : null };
}

export function readWhen(context: WhenContext, when: When): Moment {
  const base = readBase(context, when);
  if (when.steps.length === 0) return base;
  const at = when.steps.reduce((moment, step) => stepFrom(moment, step, context.zone), firstMoment(base));
  if (Math.abs(at) <= MOMENT_LIMIT) return { kind: "moment", at };
  throw queryFault(context.text, when.span, "this is outside the supported range of dates");
}

function readBase({ text, now_ms, zone }: WhenContext, { base, span }: When): Moment {
  switch (base.kind) {
    case "today":
      return { kind: "day", start: startOfDay(now_ms, zone) };
    case "now":
      return { kind: "moment", at: now_ms };
    case "date": {
      const date = readDate(base.text, zone);
      if (date.kind !== "fault") return date;
      throw queryFault(text, span, `this is not a date: ${date.reason}`);
    }
  }
  throw base satisfies never;
}

export function stepFrom(moment: number, { unit, count }: Step, zone: Zone): number {
  switch (unit) {
    case "MINUTES":
      return moment + count * MINUTE_MS;
    case "HOURS":
      return moment + count * HOUR_MS;
    case "DAYS":
      return addDays(moment, count, zone);
    case "WEEKS":
      return addDays(moment, 7 * count, zone);
    case "MONTHS":
      return addMonths(moment, count, zone);
  }
  throw unit satisfies never;
}

/**
 * Returns the first moment of the next day. Days on which the clock changes are longer or shorter.
 */
export function dayEnd({ start }: Extract<Moment, { kind: "day" }>, { zone }: { readonly zone: Zone }): number {
  return addDays(start, 1, zone);
}

export function firstMoment(moment: Moment): number {
  return moment.kind === "day" ? moment.start : moment.at;
}
