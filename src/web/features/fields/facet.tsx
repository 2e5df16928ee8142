import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { MOST_AGGREGATES } from "../../../query/plan.ts";
import { faultMessage } from "../../parts/api/client.ts";
import type { App } from "../../state/app.ts";
import { bandText, isBand } from "../../parts/query/choices.ts";
import type { Choice } from "../../parts/query/choices.ts";
import {
  excludeChoice,
  choicesOfField,
  groupedBy,
  hasChoice,
  onlyChoice,
  readQuery,
  toggleChoice,
  toggleExclusion,
} from "../../parts/query/compose.ts";
import type { EditableQuery } from "../../parts/query/compose.ts";
import { eventsQuery } from "../../parts/query/groups.ts";
import type { GroupRecord } from "../../parts/query/groups.ts";
import { NameText } from "../../parts/text/pieces.tsx";
import { Icon } from "../../parts/controls/icons.tsx";
import { formatNumber } from "../../parts/text/numbers.ts";
import { sendQuery } from "../../state/send-query.ts";
import type { Run, Search } from "../../state/search.ts";
import { useRead } from "../../state/use-read.ts";
import { bandBounds, choicesBeside, countsQuery, facetQuery, readCounts, readFacet } from "./facets.ts";
import type { FacetValue, FieldStatistics } from "./facets.ts";
import { useOrder } from "./use-order.ts";
import { useRoving } from "./use-roving.ts";
import type { OrderedRead } from "./use-order.ts";

const FEW = 5;
/** Values of the class facet, which is also the legend of the bars. */
const FEW_CLASSES = 9;
const MANY = 100;

/** A field with exact counts of its values over the whole range, for the rest of the query. */
export function Facet(properties: {
  readonly app: App;
  readonly search: Search;
  /** The run whose events are counted. */
  readonly run: Run;
  readonly statistics: FieldStatistics;
  readonly startsOpen: boolean;
  /** Whether to hide it while facets above lack their values, which would push it down. */
  readonly isHidden: boolean;
  /** Called when its values are loaded or the read has failed. */
  readonly onThere: () => void;
}): JSX.Element {
  const { app, search, run, statistics, startsOpen, isHidden, onThere } = properties;
  const isOpen = useSignal(startsOpen);
  const take = useSignal(statistics.name === "class" ? FEW_CLASSES : FEW);
  const bounds = bandBounds(statistics);
  const { value, fault } = useRead(run, () => readValues(app, run, statistics, isOpen.value ? take.value : 0), [
    bounds?.join(),
    isOpen.value,
    take.value,
  ]);
  const isThere = !isOpen.value || value.value !== null || fault.value !== null;
  useEffect(() => {
    if (isThere) onThere();
  }, [isThere]);
  const section = useRoom(isOpen.value, [value.value, isHidden]);
  const keys = useRoving(section);
  const values = useOrder(value, ({ choice }) => JSON.stringify(choice)) ?? [];
  const parsed = askOf(search);
  const most = Math.max(
    1,
    values.reduce((sum, { count }) => sum + count, 0),
  );
  const rest =
    value.value === null
      ? 0
      : statistics.distinct - values.filter(({ choice, count }) => typeof choice === "string" && count > 0).length;
  return (
    <section ref={section} class="facet" hidden={isHidden} {...keys}>
      <h3>
        <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          <Icon name="right" />
          <span>
            <NameText text={statistics.name} />
          </span>
          {/* In place of the number: a separate line would push the values down. */}
          <span class="note num">
            {fault.value ?? (bounds === null ? formatNumber(statistics.distinct) : `${bounds.length + 1} bands`)}
          </span>
        </button>
      </h3>
      {isOpen.value && (
        <>
          {withChosen(values, parsed, statistics.name).map((value) => (
            <Value
              key={JSON.stringify(value.choice)}
              app={app}
              search={search}
              parsed={parsed}
              field={statistics.name}
              value={value}
              share={((value.count ?? 0) / most) * 100}
            />
          ))}
          {bounds === null && rest > 0 && take.value !== MANY && (
            <button class="more-vals" type="button" onClick={() => (take.value = MANY)}>
              {formatNumber(rest)} more
            </button>
          )}
          {take.value === MANY && rest > 0 && (
            <button
              class="more-vals"
              type="button"
              onClick={() => {
                changeQuery(app, search, (asked) => groupedBy(asked, statistics.name));
              }}
            >
              Show all as a table
            </button>
          )}
        </>
      )}
    </section>
  );
}

/** Returns the query that a click on a value edits: the typed one, or the last run on a fault. */
function askOf({ query, run }: Search): EditableQuery | null {
  return readQuery(query.value) ?? readQuery(run.value.typed);
}

/** Runs a query with one change. Unfinished text is replaced, and Undo restores it. */
function changeQuery({ toaster }: App, search: Search, change: (parsed: EditableQuery) => string): void {
  const typed = search.query.peek();
  const parsed = askOf(search);
  if (parsed === null) {
    toaster.show("Not changed: the query has a fault");
    return;
  }
  search.query.value = change(parsed);
  search.start();
  if (readQuery(typed) === null)
    toaster.show("Changed the last query that ran: what was typed has a fault", () => (search.query.value = typed));
}

/**
 * Keeps an open facet's height while the pointer or the focus is in the pane, so that what is below
 * stays under the pointer when a query has fewer values. Otherwise the room is released.
 */
function useRoom(isOpen: boolean, causes: readonly unknown[]): { readonly current: HTMLElement | null } {
  const section = useRef<HTMLElement>(null);
  const fit = () => {
    const { style, offsetHeight } = section.current!;
    const isUsed = section.current!.closest(".side")?.matches(":hover, :has(:focus-visible)") === true;
    style.minHeight = isOpen && isUsed ? `${offsetHeight}px` : "";
  };
  useLayoutEffect(fit, [isOpen, ...causes]);
  useEffect(() => {
    const pane = section.current!.closest(".side");
    const events = ["pointerenter", "pointerleave", "focusin", "focusout"] as const;
    // While the focus moves between fields, no element has it.
    const later = () => requestAnimationFrame(() => section.current !== null && fit());
    for (const event of events) pane?.addEventListener(event, later);
    return () => events.forEach((event) => pane?.removeEventListener(event, later));
  }, [isOpen]);
  return section;
}

/** Reads the first `take` values of a field; null if `take` is 0 or the query has a fault. */
async function readValues(
  app: App,
  run: Run,
  statistics: FieldStatistics,
  take: number,
): Promise<OrderedRead<FacetValue> | null> {
  const parsed = eventsQuery(run.query);
  const query = parsed === null || take === 0 ? null : facetQuery(statistics, parsed, run.moments, run.zone, take);
  if (query === null) return null;
  const { body } = await sendQuery<GroupRecord>(app.client, run, query);
  const values = readFacet(statistics, body);
  const entries = [...values, ...(await countBeside(app, run, statistics.name, values))];
  return { of: `${run.number} ${take}`, entries };
}

/** Reads the counts of choices that are not among the most frequent values. */
async function countBeside(
  app: App,
  run: Run,
  field: string,
  values: readonly FacetValue[],
): Promise<readonly FacetValue[]> {
  const [typed, matching] = [readQuery(run.typed), eventsQuery(run.query)];
  if (typed === null || matching === null) return [];
  const choices = choicesBeside(typed, field, values);
  const counted: FacetValue[] = [];
  for (let from = 0; from < choices.length; from += MOST_AGGREGATES) {
    const some = choices.slice(from, from + MOST_AGGREGATES);
    const query = countsQuery(field, some, matching, run.moments, run.zone);
    if (query === null) return [];
    const { body } = await sendQuery<GroupRecord>(app.client, run, query);
    counted.push(...readCounts(some, body[0]));
  }
  return counted;
}

/** A listed value. `count` is null for a choice made since the last response. */
type ShownValue = Pick<FacetValue, "choice"> & { readonly count: number | null };

/** Adds choices that are not among the most frequent values, so that they stay visible. */
function withChosen(values: readonly FacetValue[], parsed: EditableQuery | null, field: string): readonly ShownValue[] {
  if (parsed === null) return values;
  return [...values, ...choicesBeside(parsed, field, values).map((choice) => ({ choice, count: null }))];
}

function Value(properties: {
  readonly app: App;
  readonly search: Search;
  readonly parsed: EditableQuery | null;
  readonly field: string;
  readonly value: ShownValue;
  readonly share: number;
}): JSX.Element {
  const { app, search, parsed, field, value, share } = properties;
  const { choice, count } = value;
  const { chosen, not } = parsed === null ? { chosen: [], not: [] } : choicesOfField(parsed, field);
  const isChosen = hasChoice(field, chosen, choice);
  const isLeftOut = hasChoice(field, not, choice);
  const change = (by: (parsed: EditableQuery, field: string, choice: Choice) => string) => {
    changeQuery(app, search, (asked) => by(asked, field, choice));
  };
  const isClass = field === "class";
  const isHidden = isClass && typeof choice === "string" && search.run.value.hidden.includes(choice);
  return (
    <div class="valrow">
      <button
        class={isLeftOut || isHidden ? "val off" : "val"}
        type="button"
        aria-pressed={isChosen}
        data-class={isClass && typeof choice === "string" ? choice : undefined}
        onClick={({ shiftKey }) => change(shiftKey ? toggleExclusion : toggleChoice)}
      >
        <svg class="share" aria-hidden="true">
          <rect width={`${share.toFixed(1)}%`} height="22" rx="3" />
        </svg>
        {isChosen && <Icon name="tick" class="tick" />}
        {isClass && <span class="sw" />}
        <span class="n">
          <NameText text={nameOf(app, search.log, field, choice)} />
        </span>
        <span class="c">{count === null ? "" : formatNumber(count)}</span>
      </button>
      <span class="acts">
        <button type="button" onClick={() => change(onlyChoice)}>
          only
        </button>
        <button type="button" onClick={() => change(excludeChoice)}>
          not
        </button>
        {isClass && typeof choice === "string" && (
          <button type="button" onClick={() => hide(app, search.log, choice, !isHidden)}>
            {isHidden ? "show" : "hide"}
          </button>
        )}
      </span>
    </div>
  );
}

/** Hides a class from the reader's lists, or shows it again. */
function hide(app: App, log: string, key: string, isHidden: boolean): void {
  const set = async (to: boolean) => (await import("../../state/hiding.ts")).setHidden(app, log, key, to);
  const failed = (fault: unknown) => app.toaster.show(`Not changed: ${faultMessage(fault)}`);
  const words = `Your lists ${isHidden ? "hide" : "show"} ${app.classes.nameOf(log, key)} from now on`;
  set(isHidden).then(() => app.toaster.show(words, () => void set(!isHidden).catch(failed)), failed);
}

function nameOf(app: App, log: string, field: string, choice: Choice): string {
  if (isBand(choice)) return bandText(choice);
  if (choice === null) return field === "class" ? "No class" : "none";
  return field === "class" ? app.classes.nameOf(log, choice) : choice;
}
