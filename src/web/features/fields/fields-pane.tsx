import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { faultMessage } from "../../parts/api/client.ts";
import type { App } from "../../state/app.ts";
import { shortcut } from "../../parts/keys/table.ts";
import { readQuery } from "../../parts/query/compose.ts";
import { visibleText } from "../../parts/text/visible-text.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { formatNumber } from "../../parts/text/numbers.ts";
import type { Run, Search } from "../../state/search.ts";
import { useRead } from "../../state/use-read.ts";
import { Facet } from "./facet.tsx";
import { MOST_FACETS } from "./facets.ts";
import type { FieldRecord } from "../../parts/api/types.ts";
import type { FieldStatistics } from "./facets.ts";
import { readFields, readFound } from "./read-fields.ts";
import type { ReadStatistics } from "./read-fields.ts";
import { useOrder } from "./use-order.ts";
import "../../css/facets.css";
import "../../css/forms.css";

/** Fields that are open initially. */
const OPEN = 5;
/** Pause in typing after which the fields of a name are read, in milliseconds. */
const TYPED_MS = 200;

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
  /** Increases when the reader asks for what failed once more. */
  const tries = useSignal(0);
  const { value: read, fault, error } = useRead(run, () => readFields(app.client, run), [tries.value]);
  const words = searchText.value?.toLowerCase() ?? "";
  const found = useFound(app, run, words, read.value?.all ?? [], tries.value);
  const first = useOrder(read, ({ name }) => name);
  const statistics = first === null || found === null ? first : withFound(first, found.entries);
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
  // A field of the query stays listed, so that values it excludes can be included again.
  const asked = new Set(readQuery(run.query)?.filters.flatMap(({ fields }) => [...fields]));
  // So does a field that was shown before, so that fields below it do not move.
  const known = useRef(new Set<string>()).current;
  for (const { name, distinct } of statistics ?? []) if (distinct > 0 || asked.has(name)) known.add(name);
  const shown = (statistics ?? []).filter(({ name }) =>
    words === "" ? known.has(name) : name.toLowerCase().includes(words),
  );
  const failure = found?.failed ?? read.value?.failed ?? null;
  const named = words === "" ? null : (read.value?.all ?? []).filter((field) => isNamed(field, words)).length;
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
        {searchText.value === null ? <h2>Fields</h2> : <FindField searchText={searchText} />}
        <span class="space note">{fault.value ?? (error.value !== null && statistics === null && "Not read")}</span>
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
      {statistics === null && error.value !== null && <p class="note aside">{faultMessage(error.value)}</p>}
      {failure !== null && <FailureNote failure={failure} retry={() => (tries.value += 1)} />}
      {named === 0 && statistics !== null && (
        <p class="note aside" role="status">
          {`No field has “${searchText.value}” in its name.`}
        </p>
      )}
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
      {named !== null && named > MOST_FACETS && (
        <p class="note aside">{`${formatNumber(named - MOST_FACETS)} more fields have such a name.`}</p>
      )}
    </aside>
  );
}

function FindField({ searchText }: { searchText: Signal<string | null> }): JSX.Element {
  return (
    <input
      class="in"
      aria-label="Find a field"
      placeholder="Find a field"
      value={searchText.value ?? ""}
      ref={(input) => input?.focus()}
      onInput={(event) => (searchText.value = event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        searchText.value = null;
      }}
    />
  );
}

/** Names the fields whose statistics could not be read. */
function FailureNote(properties: {
  readonly failure: NonNullable<ReadStatistics["failed"]>;
  readonly retry: () => void;
}): JSX.Element {
  const { names, message } = properties.failure;
  return (
    <p class="note aside" role="status">
      {`Not read: ${names.map(visibleText).join(", ")}. ${message}. `}
      <button class="link" type="button" onClick={properties.retry}>
        Try again
      </button>
    </p>
  );
}

function isNamed({ name }: Pick<FieldRecord, "name">, words: string): boolean {
  return name.toLowerCase().includes(words);
}

/** Reads the statistics of the fields with a name that are not listed anyway; null without any. */
function useFound(
  app: App,
  run: Run,
  words: string,
  all: readonly FieldRecord[],
  tries: number,
): ReadStatistics | null {
  const typed = useSignal("");
  useEffect(() => {
    const timer = setTimeout(() => (typed.value = words), TYPED_MS);
    return () => clearTimeout(timer);
  }, [words]);
  const of = typed.value;
  const further = all.slice(MOST_FACETS).filter((field) => of !== "" && isNamed(field, of));
  const { value } = useRead(
    run,
    async () => (further.length === 0 ? NONE_FOUND : await readFound(app.client, run, further.slice(0, MOST_FACETS))),
    [of, all, tries],
  );
  return value.value;
}

const NONE_FOUND: ReadStatistics = { of: "", entries: [], failed: null };

function withFound(listed: readonly FieldStatistics[], found: readonly FieldStatistics[]): readonly FieldStatistics[] {
  const names = new Set(listed.map(({ name }) => name));
  return [...listed, ...found.filter(({ name }) => !names.has(name))];
}
