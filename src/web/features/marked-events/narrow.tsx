import type { JSX } from "preact";

import type { App } from "../../state/app.ts";
import { NameText } from "../../parts/text/pieces.tsx";
import { Icon } from "../../parts/controls/icons.tsx";
import { formatNumber } from "../../parts/text/numbers.ts";
import type { MarkedCounts } from "./count-marked.ts";
import { valueCounts } from "./marked.ts";
import type { ValueCount, MarkedEvent, Narrowing } from "./marked.ts";
import "../../css/facets.css";

type NarrowProperties = {
  readonly app: App;
  readonly events: readonly MarkedEvent[];
  readonly by: Narrowing;
  /** Exact counts if not all events are loaded; null if they are, or the counts are unknown. */
  readonly counts: MarkedCounts | null;
  /** Whether all events are loaded, so that they can be counted here. */
  readonly isWhole: boolean;
};

/** Lists logs and classes with counts to narrow the list. A second press widens it again. */
export function NarrowingPane({ app, events, by, counts: exact, isWhole }: NarrowProperties): JSX.Element {
  return (
    <aside class="side" aria-label="Narrow the list">
      <header>
        <h2>Narrow</h2>
      </header>
      {(["log", "class"] as const).map((field) => {
        const counts = exact?.[field] ?? valueCounts(events, field, by);
        return (
          <section key={field} class="facet">
            <h3 class="plain">
              {field}
              <span class="note num">{formatNumber(counts.length)}</span>
            </h3>
            {counts.map((each) => (
              <Value
                key={each.value}
                app={app}
                field={field}
                by={by}
                shown={each}
                events={events}
                isCounted={isWhole || exact !== null}
                all={counts.reduce((sum, { count }) => sum + count, 0)}
              />
            ))}
          </section>
        );
      })}
    </aside>
  );
}

type ValueProperties = {
  readonly app: App;
  readonly field: keyof Narrowing;
  readonly by: Narrowing;
  readonly shown: ValueCount;
  readonly events: readonly MarkedEvent[];
  /** Whether the count covers all events. */
  readonly isCounted: boolean;
  /** Total of all values of the field. */
  readonly all: number;
};

function Value({ app, field, by, events, shown: { value, count }, isCounted, all }: ValueProperties): JSX.Element {
  const isChosen = by[field] === value;
  const isClass = field === "class";
  const change = () => {
    const parameters = new Map(app.location.place.peek().parameters);
    if (isChosen) parameters.delete(field);
    else parameters.set(field, value);
    app.location.go({ parameters });
  };
  return (
    <div class="valrow">
      <button
        class="val"
        type="button"
        aria-pressed={isChosen}
        data-class={isClass ? value : undefined}
        data-log={isClass ? logOfClass(app, events, value) : undefined}
        onClick={change}
      >
        <svg class="share" aria-hidden="true">
          <rect width={`${((count / Math.max(1, all)) * 100).toFixed(1)}%`} height="22" rx="3" />
        </svg>
        {isChosen && <Icon name="tick" class="tick" />}
        {isClass && <span class="sw" />}
        <span class="n">
          <NameText text={isClass ? app.classes.nameOf(logOfClass(app, events, value), value) : value} />
        </span>
        <span class="c">{isCounted && formatNumber(count)}</span>
      </button>
    </div>
  );
}

/** Returns a log that names a class, for its name and colour: several logs may use one key. */
function logOfClass({ classes }: App, events: readonly MarkedEvent[], key: string): string {
  const named = events.find((event) => event.class === key && classes.nameOf(event.log, key) !== key);
  return named?.log ?? events.find((event) => event.class === key)?.log ?? "";
}
