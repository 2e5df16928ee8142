import { computed, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";

import type { App } from "./app.ts";
import { createBookmarks } from "./bookmarks.ts";
import type { Bookmarks } from "./bookmarks.ts";
import { OpenStates } from "../parts/event/memory.ts";
import type { LiveTail } from "./live/live.ts";
import { readLogFields } from "./send-query.ts";
import { readPart } from "./search.ts";
import type { Run, Search } from "./search.ts";
import { columnsNamed, DEFAULT_COLUMNS, readColumns, writeColumns } from "../parts/rows/columns.ts";
import type { ListColumn } from "../parts/rows/columns.ts";
import type { FieldRecord } from "../parts/api/types.ts";
import type { ListControl } from "../parts/list/control.ts";
import type { ListMemory } from "../parts/list/list-view.ts";
import { PagedRows } from "../parts/rows/paged-rows.ts";
import { pageReaderOfRun } from "./read-page.ts";
import { listQuestion, namesOfColumns } from "../parts/rows/question.ts";
import type { RowSource } from "../parts/rows/row-source.ts";

/** The rows of a run whose first page has arrived. */
export type ShownRun = {
  readonly run: Run;
  readonly rows: PagedRows;
  /** When that page arrived, in milliseconds since the Unix epoch. */
  readonly at_ms: number;
};

export type ResultListProperties = { readonly app: App; readonly search: Search; readonly results: Results };

/** Most rows read to find the one named by a link or by the history. */
const SEARCHED = 50_000;
/** Rows to read after a row so that it can stand at the upper edge of any screen. */
const BEHIND = 150;
/** Most scroll positions kept for going back. */
const PLACES = 50;

/**
 * The results of a search and the state of their list. They outlive the list's elements, so that a
 * reader who returns from another screen finds the list unchanged.
 */
export class Results {
  /** The last answered run. It stays until the next one is answered, also when that fails. */
  readonly shown: Signal<ShownRun | null> = signal(null);
  readonly isAsking: Signal<boolean> = signal(false);
  readonly fault: Signal<unknown> = signal(null);
  readonly opened: Signal<ReadonlySet<string>> = signal(new Set());
  readonly states = new OpenStates();
  /** An event that the address names but the list does not contain. */
  readonly missing: Signal<string | null> = signal(null);
  /** The live tail, while it is on. */
  readonly live: Signal<LiveTail | null> = signal(null);
  readonly bookmarks: Bookmarks;
  readonly columns: ReadonlySignal<readonly ListColumn[]>;
  /** The scroll position when the list was removed. */
  memory: ListMemory | null = null;
  /** Screen position of the event whose context is shown; null if it was opened by a link. */
  contextTop: number | null = null;
  /** The event to open when its context is first shown. */
  contextOpen: string | null = null;
  /** The event whose context is shown; it gets the focus when the list returns. */
  contextOf: string | null = null;
  /** The controller of the list, while the list is drawn. */
  control: ListControl | null = null;
  /** The run whose first page was requested before the list existed. */
  #requested: Run | null = null;
  readonly #app: App;
  readonly #search: Search;

  constructor(app: App, search: Search) {
    this.#app = app;
    this.#search = search;
    this.bookmarks = createBookmarks(app, search.log);
    this.columns = computed(() => {
      const written = app.location.place.value.parameters.get("cols");
      const chosen = app.preferences.now.value.columns[search.log];
      return (
        readColumns(written ?? "") ??
        columnsNamed(namesOfColumns(search.run.value.query)) ??
        readColumns(chosen?.join(",") ?? "") ??
        DEFAULT_COLUMNS
      );
    });
  }

  /** Requests the first page of a run. The previous results stay until it arrives. */
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

  /** Requests the first page of the current run before the list exists. */
  beginAhead(): void {
    this.#requested = this.#search.run.peek();
    void this.begin(this.#requested);
  }

  /** Reports once whether a run's first page was requested early; a later list requests it anew. */
  takeAhead(run: Run): boolean {
    const wasRequested = this.#requested === run;
    this.#requested = null;
    return wasRequested;
  }

  /** Cancels the run and clears its error. */
  cancel(): void {
    this.#search.cancel();
    this.fault.value = null;
  }

  async #show(shown: ShownRun): Promise<void> {
    this.leave(this.control);
    this.#keepPlace();
    const before = this.shown.peek();
    const isReturn = this.#app.location.isReturn();
    const known = isReturn ? (this.#app.places.get(keyOf(shown.run)) ?? null) : null;
    const memory = known ?? (isReturn || before === null ? this.#placeInAddress() : null);
    if (memory !== null) await this.find(memory.place.id, shown.rows);
    if (shown.run !== this.#search.run.peek()) {
      // Another run has begun, and may already be answered.
      shown.rows.close();
      return;
    }
    this.memory = memory;
    this.fault.value = null;
    this.missing.value = null;
    this.shown.value = shown;
    before?.rows.close();
  }

  /** The row named by the address of a link or a reload. */
  #placeInAddress(): ListMemory | null {
    const { screen, parameters } = this.#app.location.place.peek();
    const at = screen === "search" ? parameters.get("at") : undefined;
    return at === undefined ? null : { place: { id: at, offset: 0 }, extras: new Map() };
  }

  /** Returns the tail of a run that was left for a context; null if there is none. */
  keptTail(run: Run): LiveTail | null {
    const live = this.live.peek();
    return live?.run === run ? live : null;
  }

  /**
   * Shows a live tail instead of the list.
   * @param isKept whether the reader left it for a context, where it waits, paused
   * @returns a function that ends it, unless it is kept
   */
  followed(live: LiveTail, isKept: () => boolean): () => void {
    if (this.live.peek() !== live) {
      this.endTail();
      this.memory = null;
      this.live.value = live;
    }
    return () => {
      if (isKept()) live.tail.hold("focused");
      else this.endTail();
    };
  }

  /** Ends the live tail, if there is one. */
  endTail(): void {
    const live = this.live.peek();
    if (live === null) return;
    live.counts.stop();
    live.tail.stop();
    this.live.value = null;
    this.memory = null;
  }

  /** Stores the scroll position before the list is removed. */
  leave(control: ListControl | null): void {
    this.memory = control?.view.memory ?? this.memory;
  }

  /** Reads until a row and a screen of rows after it are loaded; returns whether it was found. */
  async find(id: string, rows: RowSource): Promise<boolean> {
    const isMissing = (): boolean => {
      const [index, length] = [rows.indexOf(id), rows.length.peek()];
      return index === -1 ? length < SEARCHED : length < index + BEHIND;
    };
    if (rows instanceof PagedRows) while (isMissing() && (await rows.readNext()));
    return rows.indexOf(id) !== -1;
  }

  /** Returns the fields of events in the current range, attributes with `@`. @throws ApiFault */
  readFields(): Promise<readonly FieldRecord[]> {
    return readLogFields(this.#app.client, this.#search.run.peek());
  }

  setColumns(columns: readonly ListColumn[]): void {
    const { location, preferences } = this.#app;
    const written = writeColumns(columns);
    location.note({ cols: written || null });
    const all = preferences.now.peek().columns;
    preferences.change({ columns: { ...all, [this.#search.log]: written === "" ? [] : written.split(",") } });
  }

  /** Closes the list and stores the scroll position for going back. */
  close(): void {
    this.endTail();
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

  /** Returns null if the query is invalid or does not list events; `fault` holds the error. */
  #rowsOf(run: Run): PagedRows | null {
    try {
      const question = listQuestion(run.query, run.moments, run.order);
      return new PagedRows({ question, read: pageReaderOfRun(this.#app.client, run) });
    } catch (fault) {
      this.fault.value = fault;
      return null;
    }
  }
}

/** Returns the key under which runs share a scroll position. */
function keyOf({ log, query, order, moments }: Run): string {
  return JSON.stringify([log, query, order, Math.round((moments.to - moments.from) / 60_000)]);
}
