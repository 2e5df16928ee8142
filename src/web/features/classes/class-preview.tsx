import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { faultMessage } from "../../parts/api/client.ts";
import type { ClassRecord, EventRecord } from "../../parts/api/types.ts";
import { parseMoment } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { DAY_MS } from "../../../query/calendar.ts";
import type { GroupRecord } from "../../parts/query/groups.ts";
import { stepOfRange } from "../../parts/query/steps.ts";
import { barsQuery, columnsOfRange } from "../../parts/histogram/bars.ts";
import type { HistogramColumn } from "../../parts/histogram/bars.ts";
import { HistogramPlot } from "../../parts/histogram/plot.tsx";
import { countWithNoun, formatNumber } from "../../parts/text/numbers.ts";
import { sendQuery } from "../../state/send-query.ts";
import { preferredZone } from "../../state/preferences.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { TextPieces } from "../../parts/text/pieces.tsx";
import { shownLevel } from "../../parts/rows/row.ts";
import { cutText, visibleText } from "../../parts/text/visible-text.ts";
import { EDITED_CLASS } from "./color-field.tsx";
import { classCondition, heavierThan } from "./draft.ts";
import type { ClassDraft } from "./draft.ts";

type Fitting = {
  readonly count: number;
  /** Current number of these events by class key. */
  readonly byClass: ReadonlyMap<string, number>;
  readonly events: readonly EventRecord[];
  /** Over time, by their current classes. */
  readonly columns: readonly HistogramColumn[];
};

/** Number of newest events shown. */
const SHOWN = 8;

/** Delay before the preview is read, in milliseconds; meanwhile the last one stays. */
const WAIT_MS = 250;

/** Previews how many events of the last 24 hours a class would have, with the newest of them. */
export function ClassPreview(properties: {
  readonly app: App;
  readonly log: string;
  readonly draft: ClassDraft;
  readonly classes: readonly ClassRecord[];
}): JSX.Element {
  const { app, log, draft, classes } = properties;
  const fitting = useSignal<Fitting | null>(null);
  const fault = useSignal<string | null>(null);
  const condition = classCondition(draft);
  useEffect(() => {
    if (condition === null) {
      fitting.value = null;
      return undefined;
    }
    const abort = new AbortController();
    const read = async () => {
      try {
        fitting.value = await readFitting(app, log, draft, condition, abort.signal);
        fault.value = null;
      } catch (error) {
        if (!abort.signal.aborted) fault.value = faultMessage(error);
      }
    };
    const timer = setTimeout(() => void read(), WAIT_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [condition, log]);
  const found = fitting.value;
  const name = draft.display === "" ? "this class" : visibleText(draft.display);
  const heavier = heavierThan(draft, classes).flatMap(({ key, display }) => {
    const count = found?.byClass.get(key) ?? 0;
    return count === 0 ? [] : [{ name: visibleText(display === "" ? key : display), count }];
  });
  const stay = heavier.reduce((sum, { count }) => sum + count, 0);
  const formats = formatsOfZone(preferredZone(app.preferences.now.value));
  const stays = new Set(heavierThan(draft, classes).map(({ key }) => key));
  return (
    <section class="preview" aria-labelledby="fits">
      <p class="big" id="fits" aria-live="polite">
        {found === null ? "No condition yet" : countWithNoun(found.count, "event fits", "events fit")}
      </p>
      <p class="note">
        {fault.value ??
          (found === null
            ? "Fill in at least one of the conditions to see which events fit."
            : `in the last 24 hours. ${formatNumber(found.count - stay)} would be ${name}${heavier
                .map((each) => `, ${formatNumber(each.count)} stay ${each.name} because it is heavier`)
                .join("")}.`)}
      </p>
      {found !== null && found.events.length > 0 && (
        <figure class="hist" aria-label={OVER_TIME}>
          <HistogramPlot
            label={OVER_TIME}
            columns={found.columns.map((column) => asClassed(column, stays))}
            isCount
            formats={formats}
            nameOf={(key) => (key === EDITED_CLASS ? name : app.classes.nameOf(log, key))}
            narrow={null}
          />
        </figure>
      )}
      {found !== null && found.events.length > 0 && (
        <div class="list plain" role="list" aria-label="The newest of them">
          {found.events.slice(0, SHOWN).map((event) => (
            <div
              key={event.id}
              class="row"
              role="listitem"
              data-class={event.class ?? undefined}
              data-level={shownLevel(event)}
            >
              <time class="t">{formats.time(parseMoment(event.created))}</time>
              <span class="k">{event.class === null ? "" : app.classes.nameOf(log, event.class)}</span>
              <span class="x">
                <TextPieces text={cutText(event.text)} />
              </span>
            </div>
          ))}
        </div>
      )}
      <p class="note">
        Saving classifies new events. Stored events keep their class until you{" "}
        <a href={app.location.link({ screen: "settings", log, part: "reclassify", parameters: new Map() })}>
          reclassify the log
        </a>
        .
      </p>
    </section>
  );
}

const OVER_TIME = "Fitting events over the last 24 hours";

/** Returns a column as it will be: events of heavier classes keep theirs, below all others. */
function asClassed(column: HistogramColumn, stays: ReadonlySet<string>): HistogramColumn {
  const kept = column.parts.filter((part) => stays.has(part.class));
  const rest = column.parts.reduce((sum, part) => sum + (stays.has(part.class) ? 0 : part.count), 0);
  return { ...column, parts: rest === 0 ? kept : [...kept, { class: EDITED_CLASS, level: "", count: rest }] };
}

async function readFitting(
  { client, classes, preferences }: App,
  log: string,
  { tag, text, link, source }: ClassDraft,
  condition: string,
  signal: AbortSignal,
): Promise<Fitting> {
  const to = Date.now();
  const moments = { from: to - DAY_MS, to };
  const zone = preferredZone(preferences.now.peek());
  const step = stepOfRange(moments);
  const query = barsQuery(`GET events WHERE ${condition}`, moments, zone, step, { kind: "count" }) ?? "";
  const [preview, groups] = await Promise.all([
    client.request<{ count: number; events: readonly EventRecord[] }>(`/manage/1/logs/${log}/classFilters/preview`, {
      method: "POST",
      json: { tag, text, link, source, ...moments },
      signal,
    }),
    sendQuery<GroupRecord>(client, { log, zone, signal }, query),
  ]);
  const weights = (classes.byLog.peek().get(log) ?? []).map(({ key }) => key);
  const columns = columnsOfRange(groups.body, step, moments, zone, weights);
  const byClass = new Map<string, number>();
  for (const { class: key, count } of columns.flatMap(({ parts }) => parts))
    byClass.set(key, (byClass.get(key) ?? 0) + count);
  return { ...preview.body, byClass, columns };
}
