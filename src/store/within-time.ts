import type { LoggiaError } from "../errors.ts";
import { dataSearchesInPlan } from "../query/plan.ts";
import type { GroupPlan, ListPlan } from "../query/plan.ts";
import { conditionTimeRange } from "../query/time-range.ts";
import { MAX_READ_EVENTS, tooWide } from "./too-wide.ts";

/**
 * Approximate number of events and range of their times, in milliseconds since the Unix epoch. If
 * there are no events, the range is from Infinity to -Infinity.
 */
export type EventExtent = { readonly count: number; readonly first: number; readonly last: number };

/** A query with what is needed to explain that it took too long. */
export type TimedQuery<T> = {
  readonly run: () => Promise<T>;
  /** Whether an error of `run` says that the time of the query was over. */
  readonly isTooSlow: (error: unknown) => boolean;
  /** Returns the extent of the searched events, or null if the engine does not answer. */
  readonly extentOf: () => Promise<EventExtent | null>;
};

/** The share of a range, too long to be searched in time, that is suggested instead. */
const SHARE = 1 / 4;

/**
 * Runs the query of a plan. If it searches data and takes too long, the error names a shorter time.
 * @throws LoggiaError `too_wide`; what the query throws
 */
export async function runWithinTime<T>(
  plan: ListPlan | GroupPlan,
  { run, isTooSlow, extentOf }: TimedQuery<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isTooSlow(error) || dataSearchesInPlan(plan).length === 0) throw error;
    const extent = await extentOf();
    throw extent === null ? error : tooWideFor(plan, extent);
  }
}

function tooWideFor({ where }: ListPlan | GroupPlan, { count, first, last }: EventExtent): LoggiaError {
  const asked = conditionTimeRange(where);
  const from_ms = Math.max(asked.from_ms, first);
  const to_ms = Math.min(asked.to_ms, last + 1);
  const events = (count * (to_ms - from_ms)) / (last + 1 - first);
  const start_ms = Math.ceil(to_ms - (to_ms - from_ms) * Math.min(SHARE, MAX_READ_EVENTS / events));
  const range = from_ms < to_ms ? { from_ms: start_ms, to_ms: asked.to_ms } : null;
  return tooWide("The data of the events could not be searched in the time that a query has", range);
}
