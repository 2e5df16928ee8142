import { computed } from "@preact/signals";

import type { App } from "../../state/app.ts";
import { readQuery } from "../../parts/query/compose.ts";
import { Results } from "../../state/results.ts";
import { isLive } from "../../state/live/switch.ts";
import { preferredZone } from "../../state/preferences.ts";
import { createSearch } from "../../state/search.ts";
import { viewInAddress } from "./view-tabs.tsx";

/** The search of a log and its results so far. */
export type StartedSearch = { readonly search: ReturnType<typeof createSearch>; readonly results: Results };

const NONE: readonly string[] = [];

/** Creates the search that the address describes, without sending a request. */
export function startSearch(app: App, log: string): StartedSearch {
  const { location, preferences } = app;
  const zone = computed(() => preferredZone(preferences.now.value));
  const hidden = computed(() => preferences.now.value.hidden[log] ?? NONE);
  const search = createSearch({ log, location, zone, hidden });
  return { search, results: new Results(app, search) };
}

/** Returns the kind of results. An invalid query counts as events: the list reports its error. */
export function resultKind({ search }: Pick<StartedSearch, "search">): "events" | "groups" | "users" {
  const parsed = readQuery(search.run.value.query);
  if (parsed?.query.table.name === "users") return "users";
  return parsed?.isGrouped === true ? "groups" : "events";
}

/** Reports whether a search is shown as a list, not as a tail, groups or patterns. */
export function isListed(app: App, started: StartedSearch): boolean {
  const isOfEvents = resultKind(started) === "events";
  return app.location.place.value.screen === "search" && isOfEvents && !isLive(app) && viewInAddress(app) === "events";
}

/**
 * Starts the search of the address while the page still identifies the account, so that the reader
 * waits for one response instead of three.
 */
export class SearchPrefetch {
  #started: StartedSearch | null = null;

  begin(app: App): void {
    this.drop();
    const { screen, log } = app.location.place.peek();
    if (screen !== "search") return;
    const started = startSearch(app, log);
    if (!isListed(app, started)) return;
    this.#started = started;
    started.results.beginAhead();
  }

  /** Returns the search begun for a log and forgets it; null if there is none. */
  take(log: string): StartedSearch | null {
    const started = this.#started;
    if (started?.search.log !== log) return null;
    this.#started = null;
    return started;
  }

  /** Cancels a search that was not taken. */
  drop(): void {
    this.#started?.search.cancel();
    this.#started?.results.close();
    this.#started = null;
  }
}
