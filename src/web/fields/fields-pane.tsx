import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

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
import { conditioned, facetFields, factsQuery, MOST_FACETS, readFacts } from "./facets.ts";
import type { FieldFacts, FieldRecord } from "./facets.ts";
import { useOrder } from "./use-order.ts";
import "../css/forms.css";
import type { Read } from "./use-order.ts";

/** Fields that are open from the start. */
const OPEN = 5;
/** Fields whose facts are asked for together where all of them are too many for the store. */
const FEW_FIELDS = 4;

type FieldsPaneProperties = {
  readonly app: App;
  readonly search: Search;
  /** What is counted. */
  readonly run: Run;
  /** Whether it stands over the list, where there is no room beside it. */
  readonly isOpen: Signal<boolean>;
};

/** The fields of what was found, each with its values over the whole range. */
export function FieldsPane({ app, search, run, isOpen }: FieldsPaneProperties): JSX.Element {
  const sought = useSignal<string | null>(null);
  const pane = useRef<HTMLElement>(null);
  const { value: read, fault } = useRead(run, () => readFields(app, run));
  const facts = useOrder(read, ({ name }) => name);
  useEffect(
    () =>
      app.shortcuts.bind([
        shortcut("search", "fields", () => {
          isOpen.value = true;
          // A pane that is hidden takes no focus yet.
          requestAnimationFrame(() => pane.current?.querySelector<HTMLElement>(".facet button")?.focus());
        }),
      ]),
    [],
  );
  useLayoutEffect(() => {
    if (!isOpen.value) return undefined;
    const before = document.activeElement;
    // So that Escape closes it from the moment that it is there, and Tab goes on in it.
    if (pane.current?.contains(before) !== true) pane.current?.focus();
    return () => {
      const isLost =
        document.activeElement === document.body || pane.current?.contains(document.activeElement) === true;
      if (isLost && before instanceof HTMLElement) before.focus();
    };
  }, [isOpen.value]);
  const there = useSignal<ReadonlySet<string>>(new Set());
  const words = sought.value?.toLowerCase() ?? "";
  // A field that the query looks at stays, so that what it leaves out can be taken in again.
  const asked = new Set(readAsk(run.query)?.filters.flatMap(({ fields }) => [...fields]));
  // So does one that was shown: those below it stay where they are.
  const known = useRef(new Set<string>()).current;
  for (const { name, distinct } of facts ?? []) if (distinct > 0 || asked.has(name)) known.add(name);
  const shown = (facts ?? []).filter(({ name }) =>
    words === "" ? known.has(name) : name.toLowerCase().includes(words),
  );
  // Facets come from the top: each is drawn when those above it have their values, and stays where it is.
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
        {sought.value === null ? (
          <h2>Fields</h2>
        ) : (
          <input
            class="in"
            aria-label="Find a field"
            placeholder="Find a field"
            value={sought.value}
            ref={(input) => input?.focus()}
            onInput={(event) => (sought.value = event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.stopPropagation();
              sought.value = null;
            }}
          />
        )}
        <span class="space note">{fault.value}</span>
        <button
          class="quiet icon"
          type="button"
          aria-label="Find a field"
          aria-pressed={sought.value !== null}
          onClick={() => (sought.value = sought.value === null ? "" : null)}
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
          facts={each}
          startsOpen={index < OPEN && each.name !== "user"}
          isHidden={missing !== -1 && index > missing}
          onThere={() => (there.value = new Set([...there.peek(), each.name]))}
        />
      ))}
    </aside>
  );
}

/**
 * The fields that the log has in the range, and what the query's events say of each; null where the
 * query has a fault.
 */
async function readFields({ client }: App, run: Run): Promise<Read<FieldFacts> | null> {
  const ask = eventsOf(run.query);
  if (ask === null) return null;
  const { signal, moments, zone } = run;
  const shown = facetFields(await readFieldsOf(client, run, { signal })).slice(0, MOST_FACETS);
  const of = String(run.number);
  if (shown.length === 0) return { of, entries: [] };
  const factsIn = async (part: Ask, some: readonly FieldRecord[]): Promise<readonly FieldFacts[]> => {
    const { body } = await askRun<GroupRecord>(client, run, factsQuery(part, some, moments, zone));
    return readFacts(body[0], some);
  };
  const allFacts = async (): Promise<readonly FieldFacts[]> => {
    try {
      return await factsIn(ask, shown);
    } catch (fault) {
      // Distinct values of many fields at once may need more memory than a small store has.
      if (!(fault instanceof ApiFault && fault.code === "overloaded")) throw fault;
      const facts: FieldFacts[] = [];
      for (let from = 0; from < shown.length; from += FEW_FIELDS)
        facts.push(...(await factsIn(ask, shown.slice(from, from + FEW_FIELDS))));
      return facts;
    }
  };
  const [facts, ...own] = await Promise.all([
    allFacts(),
    ...conditioned(ask, shown).map(({ rest, field }) => factsIn(rest, [field])),
  ]);
  const byName = new Map(own.flat().map((each) => [each.name, each]));
  return { of, entries: facts.map((each) => byName.get(each.name) ?? each) };
}
