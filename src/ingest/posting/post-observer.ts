import type { ErrorCode } from "../../errors.ts";
import type { TimeCounts } from "../append/store-events.ts";

/** Observer of every request. It runs on the hottest path, so it must only increment counters. */
export type PostObserver = {
  began(): void;
  /** @param events number of accepted events and visits */
  ended(outcome: "accepted" | ErrorCode, events: number): void;
  /** @param events number of events of which something was cut to fit the limits */
  eventsCut?(events: number): void;
  /** Counts stored events whose times need attention. */
  times?(counts: TimeCounts): void;
};
