import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { ApiFault } from "../api/client.ts";
import type { App } from "../app.ts";
import { shortcut } from "../keys/table.ts";
import { readAsk } from "../ask/compose.ts";
import type { Ask } from "../ask/compose.ts";
import { eventsOf } from "../ask/groups.ts";
import type { GroupRecord } from "../ask/groups.ts";
import { Icon } from "../parts/icons.tsx";
import { askRun, readFieldsOf } from "../state/ask-run.ts";
import type { Run, Search } from "../state/search.ts";
import { useRead } from "../state/use-read.ts";
import { Facet } from "./facet.tsx";
import { conditioned, facetFields, statisticsQuery, MOST_FACETS, readStatistics } from "./facets.ts";
import type { FieldStatistics, FieldRecord } from "./facets.ts";
import { useOrder } from "./use-order.ts";
import "../css/forms.css";
import type { Read } from "./use-order.ts";

/** Fields that are open initially. */
const OPEN = 5;
/** Fields per request when the statistics of all of them are too much for the store. */
const FEW_FIELDS = 4;

type FieldsPaneProperties = {
  readonly app: App;
  readonly search: Search;
  /** The run whose events are counted. */
  readonly run: Run;
  /** Whether it covers the list, where there is no room beside it. */
  readonly isOpen: Signal<boolean>;
};

/** Shows the fields of the events found, each with its values over the whole range. */
export function FieldsPane({ app, search, run, isOpen }: FieldsPaneProperties): JSX.Element {
  const searchText = useSignal<string | null>(null);
  const pane = useRef<HTMLElement>(null);
  const { value: read, fault } = useRead(run, () => readFields(app, run));
  const statistics = useOrder(read, ({ name }) => name);
  useLayoutEffect(
    () =>
      app.shortcuts.bind([
        shortcut("search", "fields", () => {
          isOpen.value = true;
          // A hidden pane cannot take the focus yet.
          requestAnimationFrame(() => pane.current?.querySelector<HTMLElement>(".facet button")?.focus());
        }),
      ]),
    [],
  );
  useLayoutEffect(() => {
    if (!isOpen.value) return undefined;
    const before = document.activeElement;
    // With the focus inside, Escape closes the pane at once and Tab continues in it.
    if (pane.current?.contains(before) !== true) pane.current?.focus();
    return () => {
      const isLost =
        document.activeElement === document.body || pane.current?.contains(document.activeElement) === true;
      if (isLost && before instanceof HTMLElement) before.focus();
    };
  }, [isOpen.value]);
  const there = useSignal<ReadonlySet<string>>(new Set());
  const words = searchText.value?.toLowerCase() ?? "";
  // A field of the query stays listed, so that values it excludes can be included again.
  const asked = new Set(readAsk(run.query)?.filters.flatMap(({ fields }) => [...fields]));
  // So does a field that was shown before, so that fields below it do not move.
  const known = useRef(new Set<string>()).current;
  for (const { name, distinct } of statistics ?? []) if (distinct > 0 || asked.has(name)) known.add(name);
  const shown = (statistics ?? []).filter(({ name }) =>
    words === "" ? known.has(name) : name.toLowerCase().includes(words),
  );
  // Facets appear from the top: each is drawn once all those above it have values.
  const missing = shown.findIndex(({ name }) => !there.value.has(name));
  return (
    <aside
      ref={pane}
      class={isOpen.value ? "side over" : "side"}
      tabIndex={-1}
      aria-label="Fields"
      onKeyDown={({ key }) => {
        if (key === "Escape") isOpen.value = false;
      }}
    >
      <header>
        {searchText.value === null ? (
          <h2>Fields</h2>
        ) : (
          <input
            class="in"
            aria-label="Find a field"
            placeholder="Find a field"
            value={searchText.value}
            ref={(input) => input?.focus()}
            onInput={(event) => (searchText.value = event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.stopPropagation();
              searchText.value = null;
            }}
          />
        )}
        <span class="space note">{fault.value}</span>
        <button
          class="quiet icon"
          type="button"
          aria-label="Find a field"
          aria-pressed={searchText.value !== null}
          onClick={() => (searchText.value = searchText.value === null ? "" : null)}
        >
          <Icon name="find" />
        </button>
        <button class="quiet icon only-mid" type="button" aria-label="Close" onClick={() => (isOpen.value = false)}>
          <Icon name="close" />
        </button>
      </header>
      {shown.map((each, index) => (
        <Facet
          key={each.name}
          app={app}
          search={search}
          run={run}
          statistics={each}
          startsOpen={index < OPEN && each.name !== "user"}
          isHidden={missing !== -1 && index > missing}
          onThere={() => (there.value = new Set([...there.peek(), each.name]))}
        />
      ))}
    </aside>
  );
}

/**
 * Reads the fields of the log in the range and their statistics over the query's events; null if
 * the query has a fault.
 */
async function readFields({ client }: App, run: Run): Promise<Read<FieldStatistics> | null> {
  const ask = eventsOf(run.query);
  if (ask === null) return null;
  const { signal, moments, zone } = run;
  const shown = facetFields(await readFieldsOf(client, run, { signal })).slice(0, MOST_FACETS);
  const of = String(run.number);
  if (shown.length === 0) return { of, entries: [] };
  const statisticsIn = async (part: Ask, some: readonly FieldRecord[]): Promise<readonly FieldStatistics[]> => {
    const { body } = await askRun<GroupRecord>(client, run, statisticsQuery(part, some, moments, zone));
    return readStatistics(body[0], some);
  };
  const allStatistics = async (): Promise<readonly FieldStatistics[]> => {
    try {
      return await statisticsIn(ask, shown);
    } catch (fault) {
      // Distinct values of many fields at once may exceed the memory of a small store.
      if (!(fault instanceof ApiFault && fault.code === "overloaded")) throw fault;
      const statistics: FieldStatistics[] = [];
      for (let from = 0; from < shown.length; from += FEW_FIELDS)
        statistics.push(...(await statisticsIn(ask, shown.slice(from, from + FEW_FIELDS))));
      return statistics;
    }
  };
  const [statistics, ...own] = await Promise.all([
    allStatistics(),
    ...conditioned(ask, shown).map(({ rest, field }) => statisticsIn(rest, [field])),
  ]);
  const byName = new Map(own.flat().map((each) => [each.name, each]));
  return { of, entries: statistics.map((each) => byName.get(each.name) ?? each) };
}
