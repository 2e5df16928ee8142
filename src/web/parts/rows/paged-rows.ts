import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";

import { cursorBehind, firstCursor, pageQuery } from "./question.ts";
import type { ListCursor, ListQuestion } from "./question.ts";
import { RowStore } from "./row-store.ts";
import type { RowSource } from "./row-source.ts";
import { EMPTY_ROW } from "./row.ts";
import type { ListedEvent } from "./row.ts";

/** Requests one page of an LQL query from the service. */
export type ReadPage = (query: string, signal: AbortSignal) => Promise<readonly ListedEvent[]>;

export type PagedRowsOptions = {
  readonly question: ListQuestion;
  readonly read: ReadPage;
  /**
   * Page sizes in rows: `first` of the first page, which the reader waits for; `page` of others.
   */
  readonly first?: number;
  readonly page?: number;
  /** Most characters held; beyond it, pages far from the view keep only their ids. */
  readonly room?: number;
  /** Rows that another source shows above these; they are left out. */
  readonly except?: (id: string) => boolean;
};

/** Distance in rows from the last one at which the next page is read. */
const AHEAD = 400;
/** Default of `room`; it fits 100,000 rows of usual size twice. */
const ROOM = 96_000_000;

type Page = { readonly cursor: ListCursor; readonly start: number; readonly end: number; readonly take: number };

/** The rows of a query, read page by page as the view approaches them. */
export class PagedRows implements RowSource {
  readonly length: Signal<number> = signal(0);
  readonly isComplete: Signal<boolean> = signal(false);
  readonly fault: Signal<unknown> = signal(null);
  readonly version: Signal<number> = signal(0);
  /** Whether a page is being read. */
  readonly isReading: Signal<boolean> = signal(false);
  readonly #question: ListQuestion;
  readonly #read: ReadPage;
  readonly #first: number;
  readonly #page: number;
  readonly #room: number;
  readonly #except: (id: string) => boolean;
  readonly #rows = new RowStore();
  readonly #pages: Page[] = [];
  readonly #abort = new AbortController();
  #next: ListCursor;
  /** Rows read so far, including left-out ones, and how many of them share the last one's time. */
  #seen = 0;
  #tied = 0;
  #last: ListedEvent | null = null;
  #wanted = { from: 0, to: 0 };
  #current: Promise<void> | null = null;

  constructor({ question, read, first = 100, page = 500, room = ROOM, except = () => false }: PagedRowsOptions) {
    this.#question = question;
    this.#read = read;
    this.#first = first;
    this.#page = page;
    this.#room = room;
    this.#except = except;
    this.#next = firstCursor(question);
  }

  /** Whether the query limits its result with TAKE or SKIP. */
  get isPart(): boolean {
    return this.#question.take !== null || this.#question.skip > 0;
  }

  at(index: number): ListedEvent | undefined {
    return this.#rows.at(index);
  }

  idAt(index: number): string | undefined {
    return this.#rows.idAt(index);
  }

  indexOf(id: string): number {
    return this.#rows.indexOf(id);
  }

  need(from: number, to: number): void {
    this.#wanted = { from, to };
    if (this.fault.peek() === null) this.#go();
  }

  retry(): void {
    this.fault.value = null;
    this.#go();
  }

  /** Reads the first page, so that a run knows when its list is ready. @throws the read's error */
  async begin(): Promise<void> {
    this.#go();
    await this.#current;
    const fault = this.fault.peek();
    if (fault !== null) throw fault;
  }

  /** Reads the next page, wherever the view is; returns whether it was read. */
  async readNext(): Promise<boolean> {
    while (this.#current !== null) await this.#current;
    if (this.isComplete.peek() || this.fault.peek() !== null || this.#abort.signal.aborted) return false;
    await this.#start(async () => await this.#readNext());
    return this.fault.peek() === null;
  }

  /** Replaces the row with the same id. */
  replace(row: ListedEvent): void {
    this.#rows.replace(row);
    this.version.value += 1;
  }

  /** Aborts the current read and prevents further ones. */
  close(): void {
    this.#abort.abort();
  }

  #go(): void {
    if (this.#current !== null || this.#abort.signal.aborted) return;
    const task = this.#nextTask();
    if (task !== null) void this.#start(task);
  }

  async #start(task: () => Promise<void>): Promise<void> {
    this.isReading.value = true;
    this.#current = task().then(
      () => this.#settled(null),
      (fault: unknown) => this.#settled(fault),
    );
    await this.#current;
  }

  #settled(fault: unknown): void {
    this.#current = null;
    this.isReading.value = false;
    if (this.#abort.signal.aborted) return;
    if (fault !== null) this.fault.value = fault;
    // The first rows are drawn before more are requested.
    else if (this.#wanted.to > 0) this.#go();
  }

  /** Returns the next read, if any; pages in view come first. */
  #nextTask(): (() => Promise<void>) | null {
    const forgotten = this.#pages.find(
      ({ start, end }) => start < this.#wanted.to && end > this.#wanted.from && this.#rows.isForgotten(start),
    );
    if (forgotten !== undefined) return () => this.#readAgain(forgotten);
    const isNear = this.#wanted.to + AHEAD >= this.#rows.length;
    return isNear && !this.isComplete.peek() ? () => this.#readNext() : null;
  }

  async #readNext(): Promise<void> {
    const left = this.#question.take === null ? Infinity : this.#question.take - this.#seen;
    const take = Math.min(left, this.#pages.length === 0 ? this.#first : this.#page);
    const cursor = this.#next;
    const rows = await this.#request(cursor, take);
    const start = this.#rows.length;
    this.#rows.append(rows.filter(({ id }) => !this.#except(id)));
    this.#pages.push({ cursor, start, end: this.#rows.length, take });
    this.#count(rows);
    this.length.value = this.#rows.length;
    if (rows.length < take || take === left) this.isComplete.value = true;
    if (this.#last !== null) this.#next = cursorBehind(this.#question, this.#last, this.#tied, this.#seen);
    this.version.value += 1;
    this.#forgetFar();
  }

  #count(rows: readonly ListedEvent[]): void {
    for (const row of rows) {
      this.#tied = row.created === this.#last?.created ? this.#tied + 1 : 1;
      this.#last = row;
    }
    this.#seen += rows.length;
  }

  async #readAgain({ cursor, start, end, take }: Page): Promise<void> {
    const rows = await this.#request(cursor, take);
    for (const row of rows) this.#rows.replace(row);
    this.#fillGone(start, end);
    this.version.value += 1;
    this.#forgetFar();
  }

  /** Fills the places of events that were deleted since the first read. */
  #fillGone(start: number, end: number): void {
    for (let index = start; index < end; index++) {
      if (this.#rows.isForgotten(index)) this.#rows.replace(goneRow(this.#rows.idAt(index)!));
    }
  }

  async #request(cursor: ListCursor, take: number): Promise<readonly ListedEvent[]> {
    return await this.#read(pageQuery(this.#question, cursor, take), this.#abort.signal);
  }

  /** Drops the texts of the pages farthest from the view until the rest fits into `room`. */
  #forgetFar(): void {
    if (this.#rows.characters <= this.#room) return;
    const middle = (this.#wanted.from + this.#wanted.to) / 2;
    const distance = ({ start, end }: Page): number => Math.abs((start + end) / 2 - middle);
    const isSeen = ({ start, end }: Page): boolean => start < this.#wanted.to && end > this.#wanted.from;
    for (const page of this.#pages.toSorted((a, b) => distance(b) - distance(a))) {
      if (this.#rows.characters <= this.#room) return;
      if (!isSeen(page)) this.#rows.forget(page.start, page.end);
    }
  }
}

/** Returns the placeholder of a deleted event. */
function goneRow(id: string): ListedEvent {
  const created = Number.parseInt(id.slice(0, 8), 16) * 1_000;
  return { ...EMPTY_ROW, id, created, text: "This event is gone" };
}
