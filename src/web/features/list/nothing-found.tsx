import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { readQuery } from "../../parts/query/compose.ts";
import { eventsQuery } from "../../parts/query/groups.ts";
import { hasOwnRange } from "../../parts/query/range.ts";
import { visibleText } from "../../parts/text/visible-text.ts";
import type { MessageAction } from "../../parts/controls/message.tsx";
import { STANDARD_QUERY } from "../../state/search.ts";
import type { Run, Search } from "../../state/search.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { rangeAsText, valueAsText, wantedAsText } from "./empty-text.ts";
import { textConditions, withValue } from "./near-value.ts";
import { longerRange } from "../../state/faults/other-ranges.ts";
import { readNear, readNewest } from "./read-fixes.ts";
import type { NearValue } from "./read-fixes.ts";
import "../../css/blank.css";

export type NothingFoundProperties = {
  readonly app: App;
  readonly search: Search;
  /** The run that found nothing. The next one may be under way already. */
  readonly run: Run;
};

/** Suggestions; undefined until known. */
type Fixes = { readonly near: NearValue | null | undefined; readonly newest: number | null | undefined };

/** Explains an empty list, and offers the nearest query or range that finds events. */
export function NothingFound({ app, search, run }: NothingFoundProperties): JSX.Element {
  const fixes = useFixes(app, run);
  const formats = useMemo(() => formatsOfZone(run.zone), [run.zone]);
  const parsed = useMemo(() => eventsQuery(run.typed), [run.typed]);
  const { near, newest } = fixes;
  const classNameOf = (key: string) => app.classes.nameOf(run.log, key);
  const isOwnRange = parsed !== null && hasOwnRange(parsed);
  const range = isOwnRange ? "In the range of the query" : rangeAsText(search.range.value, run.moments, formats);
  const texts = parsed === null ? [] : textConditions(parsed);
  const isWhole = parsed === null || parsed.filters.length === 0;
  const lines = [`${range} ${isWhole ? "no event came" : `no event ${wantedAsText(parsed, texts, classNameOf)}`}.`];
  const actions: MessageAction[] = [];
  const start = (change: () => void) => () => {
    change();
    search.start();
  };
  if (near) {
    lines.push(`The log has a ${valueAsText({ ...near.condition, value: near.value }, classNameOf)}.`);
    const use = () => {
      const typed = readQuery(run.typed);
      const condition = typed === null ? undefined : textConditions(typed).find(isSameCondition(near));
      if (typed !== null && condition !== undefined) search.query.value = withValue(typed, condition, near.value);
    };
    actions.push({ label: `Use ${visibleText(near.value)}`, act: start(use) });
  }
  const longer = newest === undefined || newest === null || isOwnRange ? null : longerRange(newest, run);
  if (longer !== null) {
    if (near === null)
      lines.push(`The newest match is from ${formats.date(newest!)}, ${formats.clock(newest!).slice(0, 5)}.`);
    actions.push({ label: longer.name, act: start(() => (search.range.value = longer.range)) });
  }
  if (run.hidden.length > 0) {
    lines.push("Events of classes that you hide are left out.");
    actions.push({ label: "Show all classes", act: start(() => (search.hide.value = "")) });
  }
  if (actions.length === 0 && !isWhole && near === null && newest === null) {
    lines.push("No other range has one. Fewer conditions find more.");
    actions.push({ label: "All events", act: start(() => (search.query.value = STANDARD_QUERY)) });
  }
  return (
    <div class="blank" id="list" tabIndex={-1}>
      <h2>No events match</h2>
      <p role="status">{lines.join(" ")}</p>
      {actions.length > 0 && (
        <div class="acts">
          {actions.map(({ label, act }) => (
            <button key={label} class="btn small" type="button" onClick={act}>
              {label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function isSameCondition({ condition }: NearValue): (other: { field: string; value: string }) => boolean {
  return ({ field, value }) => field === condition.field && value === condition.value;
}

/** Requests suggestions, only when nothing was found. */
function useFixes(app: App, run: Run): Fixes {
  const fixes = useSignal<Fixes>({ near: undefined, newest: undefined });
  useEffect(() => {
    const abort = new AbortController();
    const keep = (known: Partial<Fixes>) => {
      if (!abort.signal.aborted) fixes.value = { ...fixes.peek(), ...known };
    };
    // If they can't be read, the message appears without them.
    readNear(app, run, abort.signal).then(
      (near) => keep({ near }),
      () => undefined,
    );
    readNewest(app, run, abort.signal).then(
      (newest) => keep({ newest }),
      () => undefined,
    );
    return () => abort.abort();
  }, [run]);
  return fixes.value;
}
