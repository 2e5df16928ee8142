import { computed, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";

import { writeSelection } from "../parts/query/choices.ts";
import { readQuery, withCondition } from "../parts/query/compose.ts";
import { isSameHiding, withoutHidden } from "../parts/query/hiding.ts";
import { exactRange, isSameRange, momentsOfQuery, resolveRange, withOwnRange } from "../parts/query/range.ts";
import { RANGE_PARAMETERS, STANDARD_RANGE, readRange, writeRange } from "../parts/query/range-address.ts";
import type { Moments, WrittenRange } from "../parts/query/range.ts";
import { findZone } from "../parts/time/zones.ts";
import type { TimeOrder } from "../parts/rows/question.ts";
import { changedParameters } from "./location.ts";
import type { Location } from "./location.ts";

/**
 * One run of a query. Its range is resolved to two moments once, so that list, histogram and fields
 * describe the same events. Each of them requests its own part with `signal`.
 */
export type Run = {
  /** Increases with each run. */
  readonly number: number;
  readonly log: string;
  /** The query as typed. */
  readonly typed: string;
  /** The query as sent: without hidden classes. */
  readonly query: string;
  /** Classes excluded because the reader hides them. */
  readonly hidden: readonly string[];
  readonly moments: Moments;
  readonly zone: string;
  readonly order: TimeOrder;
  /** Aborted when another run begins or this one is cancelled. */
  readonly signal: AbortSignal;
  /** Number of parts being read. */
  readonly reading: Signal<number>;
};

/** Reads a part of a run and counts it in `reading` meanwhile. */
export async function readPart<Part>({ reading }: Run, read: () => Promise<Part>): Promise<Part> {
  reading.value += 1;
  try {
    return await read();
  } finally {
    reading.value -= 1;
  }
}

/** The search of one log. The signals hold the current input; a run holds what was requested. */
export type Search = {
  readonly log: string;
  readonly query: Signal<string>;
  readonly range: Signal<WrittenRange>;
  readonly zone: ReadonlySignal<string>;
  /** The zone chosen for this search; "" for the reader's own. */
  readonly chosenZone: Signal<string>;
  readonly order: Signal<TimeOrder>;
  /** Classes to hide, separated by commas; {@link OWN_HIDING} for the reader's own choice. */
  readonly hide: Signal<string>;
  readonly run: ReadonlySignal<Run>;
  /** Runs the current input and adds an entry to the history. */
  readonly start: () => void;
  /**
   * Runs the current input within two moments, which replace the query's own range if it has one,
   * else the chosen range. A live tail ends, since it would continue after the range.
   */
  readonly narrow: (moments: Moments) => void;
  /** Repeats the last run, ignoring later input. A relative range is resolved anew. */
  readonly again: () => void;
  /** Cancels the run, also in the service. The last results stay. */
  readonly cancel: () => void;
  readonly isCancelled: ReadonlySignal<boolean>;
};

export const STANDARD_QUERY = "GET events";
/** Value of `hide` for the reader's own choice; no class has this name. */
export const OWN_HIDING = "*";

export type SearchOptions = {
  readonly log: string;
  readonly location: Location;
  /** The reader's own zone, by name. */
  readonly zone: ReadonlySignal<string>;
  /** The classes of the log that the reader hides. */
  readonly hidden: ReadonlySignal<readonly string[]>;
};

/** Creates the search that the address describes. Call {@link Search.start} after changes. */
export function createSearch(options: SearchOptions): Search & { follow: () => void } {
  const { log, location, zone: ownZone, hidden: ownHidden } = options;
  const query = signal(STANDARD_QUERY);
  const range = signal(STANDARD_RANGE);
  const order = signal<TimeOrder>("desc");
  const hide = signal(OWN_HIDING);
  const chosenZone = signal("");
  const zone = computed(() => chosenZone.value || ownZone.value);
  let abort = new AbortController();
  let number = 0;
  let address = "";
  const read = () => {
    const { parameters } = location.place.peek();
    address = searchIn(parameters);
    query.value = queryIn(parameters);
    range.value = readRange(parameters);
    order.value = parameters.get("order") === "old" ? "asc" : "desc";
    chosenZone.value = findZone(parameters.get("tz") ?? "") ?? "";
    hide.value = parameters.get("hide") ?? OWN_HIDING;
  };
  const hiding = (): readonly string[] =>
    hide.peek() === OWN_HIDING ? ownHidden.peek() : hide.peek().split(",").filter(Boolean);
  const begin = (typed = query.peek()): Run => {
    abort.abort();
    abort = new AbortController();
    const now_ms = Date.now();
    const chosen = resolveRange(range.peek(), zone.peek(), now_ms);
    return {
      number: (number += 1),
      log,
      typed,
      ...withoutHidden(typed, hiding()),
      moments: momentsOfQuery(readQuery(typed), chosen, zone.peek(), now_ms),
      zone: zone.peek(),
      order: order.peek(),
      signal: abort.signal,
      reading: signal(0),
    };
  };
  read();
  const run = signal(begin());
  const isHidingSame = (): boolean => {
    const { typed, hidden } = run.peek();
    return isSameHiding(hidden, withoutHidden(typed, hiding()).hidden);
  };
  const cancelled = signal(0);
  const start = (parameters = location.place.peek().parameters) => {
    location.go({ parameters: withSearch(parameters, { query, range, order, chosenZone, hide }) });
    address = searchIn(location.place.peek().parameters);
    run.value = begin();
  };
  return {
    log,
    query,
    range,
    zone,
    chosenZone,
    order,
    hide,
    run,
    start: () => start(),
    narrow(moments) {
      const own = withOwnRange(query.peek(), moments, zone.peek());
      if (own === null) range.value = exactRange(moments);
      else query.value = own;
      start(changedParameters(location.place.peek().parameters, { live: null }));
    },
    again() {
      run.value = begin(run.peek().typed);
    },
    cancel() {
      abort.abort();
      cancelled.value = number;
    },
    isCancelled: computed(() => cancelled.value === run.value.number),
    follow() {
      const { typed, order: way, zone: clock } = run.peek();
      // If the address describes the same search as before, the input is kept.
      if (searchIn(location.place.peek().parameters) === address) {
        if (typed === query.peek() && !isHidingSame()) run.value = begin();
        return;
      }
      const before = range.peek();
      read();
      const isSame = typed === query.peek() && way === order.peek() && clock === zone.peek() && isHidingSame();
      if (!isSame || !isSameRange(before, range.peek())) run.value = begin();
    },
  };
}

/** The parameters that identify a search. */
const PARAMETERS = ["q", ...RANGE_PARAMETERS, "order", "tz", "hide", "only"] as const;

/** Returns a key of the search that an address describes. */
function searchIn(parameters: ReadonlyMap<string, string>): string {
  return JSON.stringify(PARAMETERS.map((name) => parameters.get(name)));
}

/** Returns an address's query. Classes of `only` become a condition that the reader can remove. */
function queryIn(parameters: ReadonlyMap<string, string>): string {
  const typed = parameters.get("q") ?? STANDARD_QUERY;
  const classes = (parameters.get("only") ?? "").split(",").filter(Boolean);
  const parsed = classes.length === 0 ? null : readQuery(typed);
  if (parsed === null || parsed.query.table.name !== "events") return typed;
  return withCondition(parsed, writeSelection({ field: "class", isNot: false, choices: classes }));
}

/** Sets the parameters of a search, omits its defaults, and removes the row of the previous one. */
function withSearch(
  parameters: ReadonlyMap<string, string>,
  { query, range, order, chosenZone, hide }: Pick<Search, "query" | "range" | "order" | "chosenZone" | "hide">,
): ReadonlyMap<string, string> {
  return changedParameters(parameters, {
    at: null,
    q: query.peek() === STANDARD_QUERY ? null : query.peek(),
    t: null,
    from: null,
    to: null,
    ...writeRange(range.peek()),
    order: order.peek() === "asc" ? "old" : null,
    tz: chosenZone.peek() || null,
    hide: hide.peek() === OWN_HIDING ? null : hide.peek(),
    only: null,
  });
}
