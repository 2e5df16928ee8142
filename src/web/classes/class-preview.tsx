import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { wordsOf } from "../api/client.ts";
import type { ClassRecord, EventRecord } from "../api/types.ts";
import { momentOf } from "../api/types.ts";
import type { App } from "../app.ts";
import { DAY_MS } from "../../query/calendar.ts";
import { withRange } from "../ask/range.ts";
import { readAsk } from "../ask/compose.ts";
import type { GroupRecord } from "../ask/groups.ts";
import { countOf, formatNumber } from "../parts/numbers.ts";
import { zoneOf } from "../state/preferences.ts";
import { formatsOf } from "../time/moments.ts";
import { Pieces } from "../event/pieces.tsx";
import { visibleText } from "../list/visible-text.ts";
import { conditionOf, heavierThan } from "./draft.ts";
import type { Draft } from "./draft.ts";

type Fitting = {
  readonly count: number;
  /** Of these, those that stay in a heavier class, by its key. */
  readonly heavier: ReadonlyMap<string, number>;
  readonly events: readonly EventRecord[];
};

/** Typing goes on while the last state is shown. */
const WAIT_MS = 250;

/** How many events of the last 24 hours a class would have, with the newest of them, before it is saved. */
export function ClassPreview(properties: {
  readonly app: App;
  readonly log: string;
  readonly draft: Draft;
  readonly classes: readonly ClassRecord[];
}): JSX.Element {
  const { app, log, draft, classes } = properties;
  const fitting = useSignal<Fitting | null>(null);
  const fault = useSignal<string | null>(null);
  const condition = conditionOf(draft);
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
        if (!abort.signal.aborted) fault.value = wordsOf(error);
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
    const count = found?.heavier.get(key) ?? 0;
    return count === 0 ? [] : [{ name: visibleText(display === "" ? key : display), count }];
  });
  const stay = heavier.reduce((sum, { count }) => sum + count, 0);
  const { time } = formatsOf(zoneOf(app.preferences.now.value));
  return (
    <section class="preview" aria-labelledby="fits">
      <p class="big" id="fits" aria-live="polite">
        {found === null ? "No condition yet" : countOf(found.count, "event fits", "events fit")}
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
        <div class="list plain" role="list" aria-label="The newest of them">
          {found.events.map((event) => (
            <div key={event.id} class="row" role="listitem" data-class={event.class ?? undefined}>
              <time class="t">{time(momentOf(event.created))}</time>
              <span class="k">{event.class === null ? "" : app.classes.nameOf(log, event.class)}</span>
              <span class="x">
                <Pieces text={event.text} />
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

async function readFitting(
  { client }: App,
  log: string,
  { tag, text, link, source }: Draft,
  condition: string,
  signal: AbortSignal,
): Promise<Fitting> {
  const to = Date.now();
  const moments = { from: to - DAY_MS, to };
  const grouped = readAsk(`GET events WHERE ${condition} GROUPBY class COLUMNS(KEY, COUNT)`);
  const [preview, groups] = await Promise.all([
    client.ask<{ count: number; events: readonly EventRecord[] }>(`/manage/1/logs/${log}/classFilters/preview`, {
      method: "POST",
      json: { tag, text, link, source, ...moments },
      signal,
    }),
    client.ask<readonly GroupRecord[]>(`/1/logs/${log}/query`, {
      query: { query: grouped === null ? "" : withRange(grouped, moments) },
      signal,
    }),
  ]);
  return {
    ...preview.body,
    heavier: new Map(groups.body.map((record) => [record.key, Number(record["count"])])),
  };
}
