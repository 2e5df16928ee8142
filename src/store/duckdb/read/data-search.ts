import type { LoggiaError } from "../../../errors.ts";
import { dataSearchesOf } from "../../../query/plan.ts";
import type { GroupPlan, ListPlan } from "../../../query/plan.ts";
import { timeRangeOf } from "../../../query/time-range.ts";
import { MAX_READ_EVENTS, tooWide } from "../../too-wide.ts";
import type { EventExtent } from "../column-statistics.ts";
import { QueryTooSlow } from "../database/errors.ts";

/** The share of a range, too long to be searched in time, that is suggested instead. */
const SHARE = 1 / 4;

/**
 * Runs a query. If it searches data and takes too long, the error names a shorter time.
 * @throws LoggiaError `too_wide`; what `query` throws
 */
export async function runWithinTime<T>(
  plan: ListPlan | GroupPlan,
  query: () => Promise<T>,
  extentOf: () => Promise<EventExtent>,
): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (!(error instanceof QueryTooSlow) || dataSearchesOf(plan).length === 0) throw error;
    throw tooWideFor(plan, await extentOf());
  }
}

function tooWideFor({ where }: ListPlan | GroupPlan, { count, first, last }: EventExtent): LoggiaError {
  const asked = timeRangeOf(where);
  const from_ms = Math.max(asked.from_ms, first);
  const to_ms = Math.min(asked.to_ms, last + 1);
  const events = (count * (to_ms - from_ms)) / (last + 1 - first);
  const start_ms = Math.ceil(to_ms - (to_ms - from_ms) * Math.min(SHARE, MAX_READ_EVENTS / events));
  const range = from_ms < to_ms ? { from_ms: start_ms, to_ms: asked.to_ms } : null;
  return tooWide("The data of the events could not be searched in the time that a query has", range);
}
