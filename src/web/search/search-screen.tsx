import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import type { App } from "../app.ts";
import { readAsk } from "../ask/compose.ts";
import { FieldsPane } from "../fields/fields-pane.tsx";
import { Histogram } from "../histogram/histogram.tsx";
import { ResultList } from "../list/result-list.tsx";
import { Results } from "../list/results.ts";
import type { ResultListProperties } from "../list/results.ts";
import { lazy } from "../shell/lazy.tsx";
import { zoneOf } from "../state/preferences.ts";
import { createSearch } from "../state/search.ts";
import type { Search } from "../state/search.ts";
import { FoundLine } from "./found-line.tsx";
import { AskBar } from "./ask-bar.tsx";
import { viewOf } from "./view-tabs.tsx";

const GroupsView = lazy<SearchProperties>(async () => (await import("../groups/groups-view.tsx")).GroupsView);
const PatternsView = lazy<SearchProperties>(async () => (await import("../patterns/patterns-view.tsx")).PatternsView);
const ContextView = lazy<ResultListProperties>(async () => (await import("../context/context-view.tsx")).ContextView);

const NONE: readonly string[] = [];

type SearchProperties = { readonly app: App; readonly search: Search };

/** The search of one log: the query, the fields, and what was found. */
export function SearchScreen({ app, log }: { app: App; log: string }): JSX.Element {
  const zone = useComputed(() => zoneOf(app.preferences.now.value));
  const hidden = useComputed(() => app.preferences.now.value.hidden[log] ?? NONE);
  const search = useMemo(() => createSearch({ log, location: app.location, zone, hidden }), []);
  const results = useMemo(() => new Results(app, search), []);
  const place = app.location.place.value;
  // Back and forward change the address alone.
  useEffect(search.follow, [place, hidden.value]);
  const isIn = app.session.state.value === "in";
  useEffect(() => {
    // Where they can't be read, those of the last time count, and the list says what is wrong.
    if (isIn) import("../classes/hiding.ts").then(({ readHiding }) => readHiding(app, log)).catch(() => undefined);
  }, [isIn]);
  useEffect(
    () => () => {
      search.cancel();
      results.close();
    },
    [],
  );
  const isFieldsOpen = useSignal(false);
  const isGrouped = useComputed(() => readAsk(search.run.value.query)?.isGrouped === true).value;
  if (place.screen === "context") {
    return (
      <div class="search">
        <AskBar app={app} search={search} isFieldsOpen={isFieldsOpen} />
        <main id="main" tabIndex={-1} class="main full" aria-labelledby="found">
          <ContextView key={place.part} app={app} search={search} results={results} />
        </main>
      </div>
    );
  }
  return (
    <div class="search">
      <AskBar app={app} search={search} isFieldsOpen={isFieldsOpen} />
      <FieldsPane app={app} search={search} isOpen={isFieldsOpen} />
      <main id="main" tabIndex={-1} class="main" aria-labelledby="found">
        {isGrouped ? (
          <GroupsView app={app} search={search} />
        ) : (
          <>
            <FoundLine app={app} search={search} results={results} />
            <Histogram app={app} search={search} />
            {viewOf(app) === "patterns" ? (
              <PatternsView app={app} search={search} />
            ) : (
              <ResultList app={app} search={search} results={results} />
            )}
          </>
        )}
      </main>
    </div>
  );
}
