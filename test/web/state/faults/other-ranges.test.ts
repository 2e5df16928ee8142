import test from "ava";

import { resolveRange } from "../../../../src/web/parts/query/range.ts";
import { rangeAsText } from "../../../../src/web/features/list/empty-text.ts";
import { longerRange, shorterRange } from "../../../../src/web/state/faults/other-ranges.ts";
import { formatsOfZone } from "../../../../src/web/parts/time/moments.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.UTC(2026, 10, 24, 13, 0);
const range = (from: string, to = "now") => ({ range: { from, to }, moments: resolveRange({ from, to }, "UTC", NOW) });
const shorter = (from: string, to?: string, typed = "GET events") => {
  const { range: chosen, moments } = range(from, to);
  return shorterRange({ typed, moments }, chosen);
};

test("a shorter range is at most half as long, and has the same end", (t) => {
  t.is(shorter("-180d")?.name, "Last 7 days");
  t.is(shorter("all")?.name, "Last 7 days");
  t.is(shorter("-7d")?.name, "Last 24 hours");
  t.is(shorter("-24h")?.name, "Last hour");
  t.is(shorter("-15m"), null);
  t.is(shorter("-180d", "now", "GET events OCCURS('2026-01-01', '2026-02-01')"), null);
  const past = shorter(String(NOW - 200 * DAY_MS), String(NOW - 100 * DAY_MS));
  t.deepEqual(past, {
    name: "Its last 7 days",
    range: { from: String(NOW - 107 * DAY_MS), to: String(NOW - 100 * DAY_MS) },
  });
});

test("a longer range is the shortest named one that contains the event", (t) => {
  const run = { zone: "UTC", moments: range("-24h").moments };
  const longer = (age_ms: number) => longerRange(NOW - age_ms, run, NOW)?.name ?? null;
  t.is(longer(25 * HOUR_MS), "Last 7 days");
  t.is(longer(20 * DAY_MS), "Last 30 days");
  t.is(longer(89 * DAY_MS), "Last 90 days");
  t.is(longer(900 * DAY_MS), "All events");
  // The present range contains it too, so it is not the reason for the empty list.
  t.is(longer(HOUR_MS), null);
  const past = { ...run, moments: { from: NOW - 9 * DAY_MS, to: NOW - 8 * DAY_MS } };
  t.is(longerRange(NOW - 5 * 60_000, past, NOW)?.name, "Last 15 minutes");
});

test("the description of a range can start a sentence", (t) => {
  const words = (from: string, to?: string) => {
    const { range: chosen, moments } = range(from, to);
    return rangeAsText(chosen, moments, formatsOfZone("UTC"));
  };
  t.is(words("-24h"), "In the last 24 hours");
  t.is(words("-1h"), "In the last hour");
  t.is(words("-3d"), "In the last 3 days");
  t.is(words("today-1d", "today"), "Yesterday");
  t.is(words("all"), "In all the time of the log");
  t.is(words(String(NOW - HOUR_MS), String(NOW)), "Between 24 Nov 12:00 and 24 Nov 13:00");
});
