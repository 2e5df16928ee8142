import { useComputed, useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { ResultList } from "./result-list.tsx";
import type { ResultListProperties } from "../../state/results.ts";
import { lazy } from "../../parts/controls/lazy.tsx";
import type { Run, Search } from "../../state/search.ts";
import { resultKind, startSearch, isListed } from "./prefetch.ts";
import type { SearchPrefetch, StartedSearch } from "./prefetch.ts";
import type { GroupsViewProperties } from "../../features/groups/groups-view.tsx";
import { FoundLine, HiddenClasses } from "./found-line.tsx";
import { ResultActions } from "./result-actions.tsx";
import { QueryBar } from "./query-bar.tsx";
import { viewInAddress } from "./view-tabs.tsx";

const GroupsView = lazy<GroupsViewProperties>(
  async () => (await import("../../features/groups/groups-view.tsx")).GroupsView,
);
const UsersView = lazy<SearchProperties>(async () => (await import("../../features/users/users-view.tsx")).UsersView);
const PatternsView = lazy<SearchProperties>(
  async () => (await import("../../features/patterns/patterns-view.tsx")).PatternsView,
);
const ContextView = lazy<ResultListProperties>(
  async () => (await import("../../features/context/context-view.tsx")).ContextView,
);

const loadBesideList = () => import("./beside-list.ts");
const FieldsPane = lazy<FieldsPaneProperties>(async () => (await loadBesideList()).FieldsPane, FieldsPlace);
const Histogram = lazy<CountedProperties>(async () => (await loadBesideList()).Histogram, HistogramPlace);

type SearchProperties = { readonly app: App; readonly search: Search };
type CountedProperties = SearchProperties & { readonly run: Run };
type FieldsPaneProperties = CountedProperties & { readonly isOpen: Signal<boolean> };

/** Shows the search of one log: the query, the fields and the results. */
export function SearchScreen({ app, log, prefetch }: { app: App; log: string; prefetch: SearchPrefetch }): JSX.Element {
  const started = useMemo(() => prefetch.take(log) ?? startSearch(app, log), []);
  const { search, results } = started;
  const place = app.location.place.value;
  const hidden = useComputed(() => app.preferences.now.value.hidden[log]).value;
  // Back and forward change only the address.
  useEffect(search.follow, [place, hidden]);
  const mayAsk = useComputed(() => app.isSettled.value && app.session.state.value === "in").value;
  useEffect(() => {
    // If they can't be read, the last known ones apply, and the list reports the failure.
    if (mayAsk) import("../../state/hiding.ts").then(({ readHiding }) => readHiding(app, log)).catch(() => undefined);
  }, [mayAsk]);
  useEffect(
    () => () => {
      search.cancel();
      results.close();
    },
    [],
  );
  const isFieldsOpen = useSignal(false);
  // A tail continues after the run that it began with.
  const counted = results.live.value?.counts.run.value ?? search.run.value;
  const kind = useComputed(() => resultKind(started)).value;
  if (place.screen === "context") {
    return (
      <div class="search">
        <QueryBar app={app} search={search} isFieldsOpen={isFieldsOpen} />
        <main id="main" tabIndex={-1} class="main full" aria-labelledby="found">
          <ContextView key={place.part} app={app} search={search} results={results} />
        </main>
        <Settling app={app} started={started} />
      </div>
    );
  }
  return (
    <div class="search">
      <QueryBar app={app} search={search} isFieldsOpen={isFieldsOpen} />
      <AfterRows app={app} place={<FieldsPlace />}>
        <FieldsPane app={app} search={search} run={counted} isOpen={isFieldsOpen} />
      </AfterRows>
      <main id="main" tabIndex={-1} class="main" aria-labelledby="found">
        {kind === "users" ? (
          <UsersView app={app} search={search} />
        ) : kind === "groups" ? (
          <GroupsView
            app={app}
            search={search}
            note={<HiddenClasses app={app} search={search} />}
            actions={<ResultActions app={app} search={search} run={search.run.value} />}
          />
        ) : (
          <>
            <FoundLine app={app} search={search} results={results} run={counted} />
            <AfterRows app={app} place={<HistogramPlace />}>
              <Histogram app={app} search={search} run={counted} />
            </AfterRows>
            {viewInAddress(app) === "patterns" ? (
              <PatternsView app={app} search={search} />
            ) : (
              <ResultList app={app} search={search} results={results} />
            )}
          </>
        )}
      </main>
      <Settling app={app} started={started} />
    </div>
  );
}

/** Longest time that the rest of the screen waits for the list, in milliseconds. */
const SLOW_MS = 2_000;

/** Marks the page as settled when it shows its first rows, their failure or another view. */
function Settling({ app, started }: { app: App; started: StartedSearch }): null {
  const { shown, fault } = started.results;
  const isThere = !isListed(app, started) || shown.value !== null || fault.value !== null;
  // Effects run after the rows are painted.
  useEffect(() => {
    if (isThere) app.isSettled.value = true;
  }, [isThere]);
  useEffect(() => {
    const timer = setTimeout(() => (app.isSettled.value = true), SLOW_MS);
    return () => clearTimeout(timer);
  }, []);
  return null;
}

type AfterRowsProperties = { readonly app: App; readonly place: JSX.Element; readonly children: ComponentChildren };

/** Shows its children once the first rows are shown, and a placeholder before. */
function AfterRows({ app, place, children }: AfterRowsProperties): JSX.Element {
  return app.isSettled.value ? <>{children}</> : place;
}

function FieldsPlace({ children }: { readonly children?: ComponentChildren }): JSX.Element {
  return (
    <aside class="side" aria-label="Fields">
      <header>
        <h2>Fields</h2>
      </header>
      {children}
    </aside>
  );
}

function HistogramPlace({ children }: { readonly children?: ComponentChildren }): JSX.Element {
  return <div class="hist">{children}</div>;
}
