import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import type { App } from "../app.ts";
import { FieldsPane } from "../fields/fields-pane.tsx";
import { Histogram } from "../histogram/histogram.tsx";
import { ResultList } from "../list/result-list.tsx";
import { createSearch } from "../state/search.ts";
import { FoundLine } from "./found-line.tsx";
import { AskBar } from "./ask-bar.tsx";

/** The search of one log: the query, the fields, and what was found. */
export function SearchScreen({ app, log }: { app: App; log: string }): JSX.Element {
  const zone = useComputed(() => app.preferences.now.value.zone || Intl.DateTimeFormat().resolvedOptions().timeZone);
  const search = useMemo(() => createSearch({ log, location: app.location, zone }), []);
  const place = app.location.place.value;
  // Back and forward change the address alone.
  useEffect(search.follow, [place]);
  useEffect(() => search.cancel, []);
  return (
    <div class="search">
      <AskBar app={app} search={search} />
      <FieldsPane app={app} search={search} />
      <main class="main" aria-labelledby="found">
        <FoundLine app={app} search={search} />
        <Histogram app={app} search={search} />
        <ResultList app={app} search={search} />
      </main>
    </div>
  );
}
