import { computed } from "@preact/signals";

import type { App } from "../app.ts";
import { readAsk } from "../ask/compose.ts";
import { Results } from "../list/results.ts";
import { isLive } from "../live/switch.ts";
import { zoneOf } from "../state/preferences.ts";
import { createSearch } from "../state/search.ts";
import { viewOf } from "./view-tabs.tsx";

/** The search of a log, and what it found so far. */
export type Begun = { readonly search: ReturnType<typeof createSearch>; readonly results: Results };

const NONE: readonly string[] = [];

/** The search of a log as the address says it. Nothing is asked yet. */
export function beginSearch(app: App, log: string): Begun {
  const { location, preferences } = app;
  const zone = computed(() => zoneOf(preferences.now.value));
  const hidden = computed(() => preferences.now.value.hidden[log] ?? NONE);
  const search = createSearch({ log, location, zone, hidden });
  return { search, results: new Results(app, search) };
}

/** What a search answers with: events too where its query cannot be read, which the list says. */
export function answersWith({ search }: Pick<Begun, "search">): "events" | "groups" | "users" {
  const ask = readAsk(search.run.value.query);
  if (ask?.query.table.name === "users") return "users";
  return ask?.isGrouped === true ? "groups" : "events";
}

/** Whether a search is drawn as a list of events that were found. */
export function isListed(app: App, begun: Begun): boolean {
  const isOfEvents = answersWith(begun) === "events";
  return app.location.place.value.screen === "search" && isOfEvents && !isLive(app) && viewOf(app) === "events";
}

/**
 * The search of the address, asked for while the page still finds out who is signed in: a reader
 * waits for one answer in place of three.
 */
export class Ahead {
  #begun: Begun | null = null;

  begin(app: App): void {
    this.drop();
    const { screen, log } = app.location.place.peek();
    if (screen !== "search") return;
    const begun = beginSearch(app, log);
    if (!isListed(app, begun)) return;
    this.#begun = begun;
    begun.results.beginAhead();
  }

  /** Hands over the search of a log, once; null where none was begun. */
  take(log: string): Begun | null {
    const begun = this.#begun;
    if (begun?.search.log !== log) return null;
    this.#begun = null;
    return begun;
  }

  /** Ends what nobody took. */
  drop(): void {
    this.#begun?.search.cancel();
    this.#begun?.results.close();
    this.#begun = null;
  }
}
