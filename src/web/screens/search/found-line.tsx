import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { readQuery } from "../../parts/query/compose.ts";
import { rangeText } from "../../parts/query/range.ts";
import type { Moments } from "../../parts/query/range.ts";
import type { HidingNoteProperties } from "./hiding-note.tsx";
import type { ResultListProperties } from "../../state/results.ts";
import type { LiveTail } from "../../state/live/live.ts";
import { isLive } from "../../state/live/switch.ts";
import { sendQuery } from "../../state/send-query.ts";
import type { Run } from "../../state/search.ts";
import { useRead } from "../../state/use-read.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { cityOfZone } from "../../parts/time/zones.ts";
import { eventsQuery, queryWithin } from "../../parts/query/groups.ts";
import { formatNumber } from "../../parts/text/numbers.ts";
import { lazy } from "../../parts/controls/lazy.tsx";
import { foundText, requestedPart, shownCount } from "./found-text.ts";
import type { FoundCount } from "./found-text.ts";
import { ResultActions } from "./result-actions.tsx";
import { useTitle } from "../../state/title.ts";
import { viewInAddress, ViewTabs } from "./view-tabs.tsx";

type FoundLineProperties = ResultListProperties & {
  /** The run that is counted. */
  readonly run: Run;
};

const HidingNote = lazy<HidingNoteProperties>(async () => (await import("./hiding-note.tsx")).HidingNote);

/** Shows how many events were found, in which range, and how long the query took. */
export function FoundLine({ app, search, results, run }: FoundLineProperties): JSX.Element {
  const isFollowing = isLive(app);
  const { value: found, error, at_ms } = useRead(run, () => countEvents(app, run));
  const formats = useMemo(() => formatsOfZone(run.zone), [run.zone]);
  const isOfThisRun = found.value?.run === run.number;
  // A query with a fault is not sent at all.
  const hasFailed = error.value !== null || readQuery(run.query) === null;
  // A run may have been counted but ended before its rows arrived.
  const isBelow = ({ run: number }: Count): boolean =>
    results.shown.value?.run.number === number || results.live.value !== null || viewInAddress(app) === "patterns";
  // The last list and count stay after a failure. If the new list is shown, only counting failed.
  const isListed = results.shown.value?.run.number === run.number;
  const isOfLast =
    !isOfThisRun && hasFailed && found.value !== null && !isListed && !search.isCancelled.value && isBelow(found.value);
  const text =
    isOfThisRun || isOfLast
      ? foundText(found.value!)
      : search.isCancelled.value
        ? "Cancelled"
        : hasFailed
          ? isListed
            ? "Not counted"
            : "No result"
          : "Searching…";
  useTitle(app, pausedText(results.live.value) ?? text, search.log);
  const isEmpty = isOfThisRun && found.value?.all === 0;
  useEffect(() => {
    if (!isEmpty) return;
    // If the log can't be read, the empty list is shown as it is.
    import("./guide-if-empty.ts").then(({ guideIfEmpty }) => guideIfEmpty(app, search.log)).catch(() => undefined);
  }, [isEmpty]);
  return (
    <div class="found">
      <h1 id="found" aria-live={isFollowing ? "off" : "polite"}>
        {text}
      </h1>
      {/* Not shown before the count, which would push it aside. */}
      {(found.value !== null || error.value !== null) && (
        <span class="note">
          {rangeText(isOfThisRun || isOfLast ? found.value!.moments : run.moments, formats)} {cityOfZone(run.zone)}
          {isOfLast && ", as the last query found them"}
          {isOfThisRun && !isFollowing && `, ${(found.value?.took_ms ?? 0).toFixed(0)} ms`}
          {isOfThisRun && isFollowing && `, counted at ${formats.time(at_ms.value).slice(0, 8)}`}
          {results.live.value?.counts.isHeld.value === true && ", counts go on when you leave bars and fields"}
          {isOfThisRun && shownCount(found.value!) < found.value!.all && ", bars and fields count all of them"}
        </span>
      )}
      <HiddenClasses app={app} search={search} />
      <span class="space" />
      <ViewTabs app={app} />
      <ResultActions app={app} search={search} run={run} />
    </div>
  );
}

/** Shows the hidden classes beside the results; nothing if the reader hides none. */
export function HiddenClasses({ app, search }: HidingNoteProperties): JSX.Element | null {
  const hasOwn = (app.preferences.now.value.hidden[search.log] ?? []).length > 0;
  const isShown = search.run.value.hidden.length > 0 || (search.hide.value === "" && hasOwn);
  return isShown ? <HidingNote app={app} search={search} /> : null;
}

type Count = FoundCount & { readonly run: number; readonly moments: Moments; readonly took_ms: number };

/** Counts all events of the query, and the part that it returns; null if it has a fault. */
async function countEvents({ client }: App, run: Run): Promise<Count | null> {
  const parsed = readQuery(run.query);
  const events = eventsQuery(run.query);
  if (parsed === null || events === null) return null;
  const query = queryWithin(events, [["columns", "COLUMNS(COUNT)"]], run.moments, run.zone);
  const { body, took_ms } = await sendQuery<{ readonly count: string }>(client, run, query);
  const all = Number(body[0]?.count ?? 0);
  return { run: run.number, moments: run.moments, all, ...requestedPart(parsed.query.clauses), took_ms };
}

/** Returns the events held back by a paused tail, in words for the title; null without pause. */
function pausedText(live: LiveTail | null): string | null {
  if (live === null || live.tail.pause.value === null) return null;
  return `Paused, ${formatNumber(live.rows.waiting.value)} new`;
}
