import { computed, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";

import type { App } from "../app.ts";
import { createBookmarks } from "../event/bookmarks.ts";
import type { Bookmarks } from "../event/bookmarks.ts";
import { OpenStates } from "../event/memory.ts";
import type { Live } from "../live/live.ts";
import { readFieldsOf } from "../state/ask-run.ts";
import { readPart } from "../state/search.ts";
import type { Run, Search } from "../state/search.ts";
import { DEFAULT_COLUMNS, readColumns, writeColumns } from "./columns.ts";
import type { ListColumn } from "./columns.ts";
import type { FieldRecord } from "../fields/facets.ts";
import type { ListControl } from "./control.ts";
import type { ListMemory } from "./list-view.ts";
import { PagedRows } from "./paged-rows.ts";
import { readerOf } from "./read-page.ts";
import { listQuestion } from "./question.ts";
import type { RowSource } from "./row-source.ts";

/** The rows of a run whose first page is there. */
export type Shown = {
  readonly run: Run;
  readonly rows: PagedRows;
  /** When that page arrived, in milliseconds since the Unix epoch. */
  readonly at_ms: number;
};

export type ResultListProperties = { readonly app: App; readonly search: Search; readonly results: Results };

/** Rows that are read at most to find one that a link or a step back names. */
const SEARCHED = 50_000;
/** Rows behind a row with which any screen is full, so that the row can stand at its upper edge. */
const BEHIND = 150;
/** Places in lists that a step back returns to. */
const PLACES = 50;

/**
 * What a search found, and how its list is shown. It outlives the list's elements, so that whoever
 * comes back from another screen finds it as it was.
 */
export class Results {
  /** The last run that was answered: it stays until the next one is, also where that fails. */
  readonly shown: Signal<Shown | null> = signal(null);
  readonly isAsking: Signal<boolean> = signal(false);
  readonly fault: Signal<unknown> = signal(null);
  readonly opened: Signal<ReadonlySet<string>> = signal(new Set());
  readonly states = new OpenStates();
  /** An event that the address names and the list does not have. */
  readonly missing: Signal<string | null> = signal(null);
  /** The tail, while one is on. */
  readonly live: Signal<Live | null> = signal(null);
  readonly bookmarks: Bookmarks;
  readonly columns: ReadonlySignal<readonly ListColumn[]>;
  /** Where the reader was when the list was taken away. */
  memory: ListMemory | null = null;
  /** Where on the screen the event stood whose neighbours are shown; null: a link led to them. */
  contextTop: number | null = null;
  /** The event that is open from the start when its neighbours are shown. */
  contextOpen: string | null = null;
  /** The event whose neighbours are shown: the list that comes after them gives it the focus. */
  contextOf: string | null = null;
  /** What acts on the list, while it is drawn. */
  control: ListControl | null = null;
  /** The run whose first page was asked for before there was a list. */
  #ahead: Run | null = null;
  readonly #app: App;
  readonly #search: Search;

  constructor(app: App, search: Search) {
    this.#app = app;
    this.#search = search;
    this.bookmarks = createBookmarks(app, search.log);
    this.columns = computed(() => {
      const written = app.location.place.value.parameters.get("cols");
      const chosen = app.preferences.now.value.columns[search.log];
      return readColumns(written ?? "") ?? readColumns(chosen?.join(",") ?? "") ?? DEFAULT_COLUMNS;
    });
  }

  /** Asks for the first page of a run. What the last one found stays until it is there. */
  async begin(run: Run): Promise<void> {
    const rows = this.#rowsOf(run);
    this.isAsking.value = rows !== null;
    if (rows === null) return;
    try {
      await readPart(run, () => rows.begin());
      if (run === this.#search.run.peek()) await this.#show({ run, rows, at_ms: Date.now() });
    } catch (fault) {
      if (run === this.#search.run.peek()) this.fault.value = run.signal.aborted ? null : fault;
    } finally {
      if (run === this.#search.run.peek()) this.isAsking.value = false;
    }
  }

  /** Asks for the first page of the present run before there is a list to show it. */
  beginAhead(): void {
    this.#ahead = this.#search.run.peek();
    void this.begin(this.#ahead);
  }

  /** Whether the first page of a run was asked for ahead: once, so that a list that comes later asks anew. */
  takeAhead(run: Run): boolean {
    const isAhead = this.#ahead === run;
    this.#ahead = null;
    return isAhead;
  }

  /** Ends the run, and what was said of its failure. */
  cancel(): void {
    this.#search.cancel();
    this.fault.value = null;
  }

  async #show(shown: Shown): Promise<void> {
    this.leave(this.control);
    this.#keepPlace();
    const before = this.shown.peek();
    const isReturn = this.#app.location.isReturn();
    const known = isReturn ? (this.#app.places.get(keyOf(shown.run)) ?? null) : null;
    const memory = known ?? (isReturn || before === null ? this.#placeInAddress() : null);
    if (memory !== null) await this.find(memory.place.id, shown.rows);
    if (shown.run !== this.#search.run.peek()) {
      // Another run has begun, and may have been answered.
      shown.rows.close();
      return;
    }
    this.memory = memory;
    this.fault.value = null;
    this.missing.value = null;
    this.shown.value = shown;
    before?.rows.close();
  }

  /** The row that a link or a reload begins with. */
  #placeInAddress(): ListMemory | null {
    const { screen, parameters } = this.#app.location.place.peek();
    const at = screen === "search" ? parameters.get("at") : undefined;
    return at === undefined ? null : { place: { id: at, offset: 0 }, extras: new Map() };
  }

  /** Says that a tail is shown in place of the list. @returns what ends that */
  followed(live: Live): () => void {
    this.memory = null;
    this.live.value = live;
    return () => {
      live.counts.stop();
      live.tail.stop();
      this.live.value = null;
      this.memory = null;
    };
  }

  /** Keeps the reader's place, before the list is taken away. */
  leave(control: ListControl | null): void {
    this.memory = control?.view.memory ?? this.memory;
  }

  /** Reads on until a row is there, and a screen of rows behind it. @returns whether it is */
  async find(id: string, rows: RowSource): Promise<boolean> {
    const isMissing = (): boolean => {
      const [index, length] = [rows.indexOf(id), rows.length.peek()];
      return index === -1 ? length < SEARCHED : length < index + BEHIND;
    };
    if (rows instanceof PagedRows) while (isMissing() && (await rows.readNext()));
    return rows.indexOf(id) !== -1;
  }

  /** The fields that events of the present range have, attributes with their `@`. @throws ApiFault */
  readFields(): Promise<readonly FieldRecord[]> {
    return readFieldsOf(this.#app.client, this.#search.run.peek());
  }

  setColumns(columns: readonly ListColumn[]): void {
    const { location, preferences } = this.#app;
    const written = writeColumns(columns);
    location.note({ cols: written || null });
    const all = preferences.now.peek().columns;
    preferences.change({ columns: { ...all, [this.#search.log]: written === "" ? [] : written.split(",") } });
  }

  /** Ends the list, and keeps the reader's place for a step back. */
  close(): void {
    this.leave(this.control);
    this.#keepPlace();
    this.shown.peek()?.rows.close();
  }

  #keepPlace(): void {
    const shown = this.shown.peek();
    if (shown === null || this.memory === null) return;
    const { places } = this.#app;
    const key = keyOf(shown.run);
    places.delete(key);
    places.set(key, this.memory);
    const oldest = places.keys().next();
    if (places.size > PLACES && !oldest.done) places.delete(oldest.value);
  }

  /** null where the query can't be read, or is none for events: whoever shows faults and groups says so. */
  #rowsOf(run: Run): PagedRows | null {
    try {
      const question = listQuestion(run.query, run.moments, run.order);
      return new PagedRows({ question, read: readerOf(this.#app.client, run) });
    } catch (fault) {
      this.fault.value = fault;
      return null;
    }
  }
}

/** What makes the list of one run that of another. */
function keyOf({ log, query, order, moments }: Run): string {
  return JSON.stringify([log, query, order, Math.round((moments.to - moments.from) / 60_000)]);
}
