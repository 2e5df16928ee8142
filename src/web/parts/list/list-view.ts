import { Heights } from "./heights.ts";
import type { RowAppearance } from "./row-view.ts";
import type { RowSource } from "../rows/row-source.ts";
import { EMPTY_ROW } from "../rows/row.ts";
import type { ListedEvent } from "../rows/row.ts";
import { ScrollScale } from "./scroll-scale.ts";
import { Slot } from "./slot.ts";
import type { MountPanel, PanelKind } from "./slot.ts";
import { MAX_ROWS, NO_ROWS, visibleRows, rowsToDraw } from "./window.ts";
import type { RowSpan } from "./window.ts";

export type ListViewOptions = {
  /** The scrolling element. The canvas is inside it, below a head and above an end. */
  readonly scroller: HTMLElement;
  readonly canvas: HTMLElement;
  readonly source: RowSource;
  readonly appearance: RowAppearance;
  readonly mount: MountPanel;
  readonly panelsOf: (id: string) => readonly PanelKind[];
  /** Called when the first visible row changes. */
  readonly onSeen: (seen: RowSpan) => void;
  /** Called when the reader scrolls. */
  readonly onScroll?: () => void;
};

/** A row and its offset in pixels from the upper edge of the list. */
export type ListPlace = { readonly id: string; readonly offset: number };

/** The state that restores a list: its scroll position and the extra heights of its rows. */
export type ListMemory = { readonly place: ListPlace; readonly extras: ReadonlyMap<string, number> };

/** End of a growing list that the view follows; null to stay in place. */
export type FollowedEnd = "top" | "bottom" | null;

/** Assumed height of a panel until it is measured, in pixels. */
const PANEL_HEIGHT = 320;
/** Time without scrolling after which the position is settled, in milliseconds. */
const REST_MS = 200;

/**
 * Draws the visible rows and keeps their position: when rows are added, removed, opened or resized,
 * the row being read stays at the same pixel on the screen.
 */
export class ListView {
  readonly #options: ListViewOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #scale = new ScrollScale();
  readonly #observer: ResizeObserver;
  /** Measured height of rows above the standard height, in pixels, by id. */
  readonly #extras = new Map<string, number>();
  #source: RowSource;
  #appearance: RowAppearance;
  #heights = new Heights(26, 0);
  #rowHeight = 26;
  #viewport = 0;
  #below = 0;
  #top = 0;
  #drawn: RowSpan = NO_ROWS;
  #seen: RowSpan = NO_ROWS;
  #anchor: ListPlace | null = null;
  #current: string | null = null;
  #follow: FollowedEnd = null;
  #rest: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ListViewOptions) {
    this.#options = options;
    this.#source = options.source;
    this.#appearance = options.appearance;
    this.#observer = new ResizeObserver((entries) => this.#resized(entries));
    this.#observer.observe(options.scroller);
    options.scroller.addEventListener("scroll", this.#scrolled, { passive: true });
    this.#measure();
    this.changed();
  }

  destroy(): void {
    this.#observer.disconnect();
    clearTimeout(this.#rest);
    this.#options.scroller.removeEventListener("scroll", this.#scrolled);
    for (const slot of this.#slots.values()) slot.remove();
    this.#slots.clear();
  }

  get seen(): RowSpan {
    return this.#seen;
  }

  /** The row with `tabIndex` 0. */
  get current(): string | null {
    return this.#current;
  }

  get isAtTop(): boolean {
    return this.#top <= 1;
  }

  get isAtBottom(): boolean {
    return this.#top >= this.#heights.total + this.#below - this.#viewport - 1;
  }

  /** The current scroll position; null in an empty list. */
  get place(): ListPlace | null {
    const id = this.#source.idAt(this.#seen.from);
    return id === undefined ? null : { id, offset: this.#heights.top(this.#seen.from) - this.#top };
  }

  get memory(): ListMemory | null {
    return this.place === null ? null : { place: this.place, extras: new Map(this.#extras) };
  }

  /** Returns where a row begins on the screen; null if it is not drawn. */
  screenTopOf(id: string): number | null {
    return this.#slots.get(id)?.row.getBoundingClientRect().top ?? null;
  }

  /** Converts a position on the screen to an offset from the upper edge of the list. */
  offsetAt(screenTop: number): number {
    return screenTop - this.#options.canvas.getBoundingClientRect().top - (this.#top - this.#scale.shift);
  }

  follow(end: FollowedEnd): void {
    this.#follow = end;
    if (end !== null) this.changed();
  }

  /** Shows the rows with a new appearance, or those of another source at a stored position. */
  use(source: RowSource, appearance: RowAppearance, start: ListMemory | null): void {
    const isOther = source !== this.#source;
    if (isOther) this.#start(source);
    this.#appearance = appearance;
    this.changed();
    if (isOther && start !== null) this.restore(start);
  }

  #start(source: RowSource): void {
    for (const slot of this.#slots.values()) slot.remove();
    this.#slots.clear();
    this.#extras.clear();
    this.#source = source;
    this.#drawn = NO_ROWS;
    this.#anchor = null;
    this.#current = null;
    this.#top = 0;
  }

  /** Draws again after a change, keeping the anchor row in place. */
  changed(): void {
    const anchor = this.#anchorNow();
    this.#layOut();
    this.#moveTo(this.#placeAfter(anchor));
    this.#draw();
  }

  #placeAfter(anchor: ListPlace | null): number {
    if (this.#follow !== null) return this.#follow === "top" ? 0 : Infinity;
    const index = anchor === null ? -1 : this.#source.indexOf(anchor.id);
    return anchor === null || index === -1 ? this.#top : this.#heights.top(index) - anchor.offset;
  }

  /** Scrolls a row to a stored position; returns whether the row exists. */
  restore({ place: { id, offset }, extras }: ListMemory): boolean {
    const index = this.#source.indexOf(id);
    if (index === -1) return false;
    for (const [row, extra] of extras) this.#extras.set(row, extra);
    this.#layOut();
    this.#moveTo(this.#heights.top(index) - offset);
    this.#draw();
    this.#anchor = { id, offset };
    return true;
  }

  /** Scrolls as little as possible to make a row visible. */
  reveal(index: number): void {
    const top = this.#heights.top(index);
    const bottom = top + this.#rowHeight;
    if (top < this.#top) this.#moveTo(top);
    else if (bottom > this.#top + this.#viewport) this.#moveTo(bottom - this.#viewport);
    else return;
    this.#draw();
    this.#options.onScroll?.();
  }

  scrollToEnd(end: "top" | "bottom"): void {
    this.#moveTo(end === "top" ? 0 : Infinity);
    this.#draw();
    this.#options.onScroll?.();
  }

  /** Focuses a row and makes it the tab stop. */
  focus(index: number): void {
    const id = this.#source.idAt(index);
    if (id === undefined) return;
    this.setCurrent(id);
    this.reveal(index);
    this.#slots.get(id)?.row.focus({ preventScroll: true });
  }

  setCurrent(id: string): void {
    if (this.#current === id) return;
    if (this.#current !== null) this.#setTabIndex(this.#current, -1);
    this.#current = id;
    this.#setTabIndex(id, 0);
  }

  slotOf(id: string): Slot | undefined {
    return this.#slots.get(id);
  }

  /** Returns the slot that contains a node. */
  slotAt(node: Node | null): Slot | undefined {
    const element = node instanceof Element ? node : node?.parentElement;
    const id = element?.closest<HTMLElement>(".slot")?.dataset["id"];
    const slot = id === undefined ? undefined : this.#slots.get(id);
    return slot?.element.contains(node) === true ? slot : undefined;
  }

  /** Returns the rows with the focus or selected text, which stay drawn while scrolled away. */
  heldRows(): ReadonlySet<string> {
    const selection = document.getSelection();
    const nodes: (Node | null)[] = [document.activeElement];
    if (selection !== null && !selection.isCollapsed) nodes.push(selection.anchorNode, selection.focusNode);
    return new Set(nodes.flatMap((node) => this.slotAt(node)?.id ?? []));
  }

  readonly #scrolled = (): void => {
    const { scrollTop } = this.#options.scroller;
    // The event comes from a position that this class set itself.
    if (Math.abs(scrollTop - (this.#top - this.#scale.shift)) < 1) return;
    const { shift } = this.#scale;
    this.#top = this.#scale.scrolled(scrollTop);
    this.#drawFrom(shift);
    this.#options.onScroll?.();
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => this.#settle(), REST_MS);
  };

  #settle(): void {
    const physical = this.#scale.settle();
    if (Math.abs(physical - this.#options.scroller.scrollTop) < 1) return;
    this.#draw();
    this.#options.scroller.scrollTop = physical;
  }

  /** Returns the row to keep in place: a visible one with focus or selection, else the first. */
  #anchorNow(): ListPlace | null {
    for (const id of this.heldRows()) {
      const index = this.#slots.get(id)!.index;
      const offset = this.#heights.top(index) - this.#top;
      if (offset > -this.#rowHeight && offset < this.#viewport) return { id, offset };
    }
    return this.#anchor;
  }

  #layOut(): void {
    const extras = [];
    for (const [id, extra] of this.#extras) {
      const index = this.#source.indexOf(id);
      if (index === -1) this.#extras.delete(id);
      else extras.push({ index, extra });
    }
    this.#heights = new Heights(this.#rowHeight, this.#source.length.peek(), extras);
    this.#scale.resize(this.#heights.total + this.#below, this.#viewport);
    this.#options.canvas.style.height = `${this.#scale.height - this.#below}px`;
  }

  #moveTo(place: number): void {
    const most = this.#heights.total + this.#below - this.#viewport;
    this.#top = Math.max(0, Math.min(place, most));
    const physical = this.#scale.moveTo(this.#top);
    if (Math.abs(this.#options.scroller.scrollTop - physical) >= 0.5) this.#options.scroller.scrollTop = physical;
  }

  /** Draws after a scroll by the reader; does nothing while the drawn rows cover the view. */
  #drawFrom(shift: number): void {
    const seen = visibleRows(this.#heights, this.#top, this.#viewport);
    const isEnough = rowsToDraw(seen, this.#drawn, this.#heights.length) === this.#drawn;
    if (!isEnough || shift !== this.#scale.shift) {
      this.#draw();
      return;
    }
    this.#seen = seen;
    this.#announce();
  }

  #announce(): void {
    this.#anchor = this.place;
    this.#source.need(this.#seen.from, this.#seen.to);
    this.#options.onSeen(this.#seen);
  }

  #draw(): void {
    this.#seen = visibleRows(this.#heights, this.#top, this.#viewport);
    this.#drawn = rowsToDraw(this.#seen, this.#drawn, this.#heights.length);
    const held = this.heldRows();
    const indexes = new Set<number>();
    for (let index = this.#drawn.from; index < this.#drawn.to; index++) indexes.add(index);
    for (const id of held) indexes.add(this.#source.indexOf(id));
    indexes.delete(-1);
    this.#drawRows([...indexes].toSorted((a, b) => a - b).slice(0, MAX_ROWS + held.size));
    this.#keepTabStop();
    this.#announce();
  }

  #drawRows(indexes: readonly number[]): void {
    const wanted = new Set(indexes.map((index) => this.#source.idAt(index)!));
    for (const [id, slot] of this.#slots) if (!wanted.has(id)) this.#remove(slot);
    let next = this.#options.canvas.firstElementChild;
    for (const index of indexes) {
      const id = this.#source.idAt(index)!;
      const slot = this.#slots.get(id) ?? this.#add(id);
      slot.draw(this.#source.at(index), this.#appearance);
      slot.show(this.#options.panelsOf(id), this.#options.mount);
      slot.place(index, this.#heights.top(index) - this.#scale.shift);
      if (slot.element === next) next = next.nextElementSibling;
      else this.#options.canvas.insertBefore(slot.element, next);
    }
  }

  #add(id: string): Slot {
    const slot = new Slot(id);
    this.#slots.set(id, slot);
    this.#observer.observe(slot.element);
    return slot;
  }

  #remove(slot: Slot): void {
    this.#observer.unobserve(slot.element);
    this.#slots.delete(slot.id);
    slot.remove();
  }

  /** Keeps one tab stop: the current row while it is drawn, else the first visible row. */
  #keepTabStop(): void {
    if (this.#current !== null && this.#slots.has(this.#current)) {
      this.#setTabIndex(this.#current, 0);
      return;
    }
    const id = this.#source.idAt(this.#seen.from);
    if (id !== undefined) this.setCurrent(id);
  }

  #setTabIndex(id: string, tabIndex: number): void {
    const row = this.#slots.get(id)?.row;
    if (row !== undefined && row.tabIndex !== tabIndex) row.tabIndex = tabIndex;
  }

  /** Measures the parts of the layout that the style sheet determines. */
  #measure(): void {
    const { scroller, canvas } = this.#options;
    const probe = new Slot("");
    probe.draw(PROBE, { ...this.#appearance, columns: this.#appearance.columns.slice(0, 1) });
    probe.element.classList.add("probe");
    canvas.append(probe.element);
    this.#rowHeight = probe.element.getBoundingClientRect().height || this.#rowHeight;
    probe.remove();
    const head = scroller.querySelector<HTMLElement>(".head")?.offsetHeight ?? 0;
    const end = scroller.querySelector<HTMLElement>(".end")?.offsetHeight ?? 0;
    this.#viewport = scroller.clientHeight - head;
    this.#below = end;
  }

  #resized(entries: readonly ResizeObserverEntry[]): void {
    let isOther = false;
    for (const { target, borderBoxSize } of entries) {
      if (target === this.#options.scroller) {
        const before = this.#rowHeight;
        this.#measure();
        if (before !== this.#rowHeight) this.#extras.clear();
        isOther = true;
      } else isOther = this.#measured(target as HTMLElement, borderBoxSize[0]?.blockSize ?? 0) || isOther;
    }
    if (isOther) this.changed();
  }

  /** Stores the height of a row; returns whether it has changed. */
  #measured(element: HTMLElement, height: number): boolean {
    const id = element.dataset["id"]!;
    if (!element.isConnected || !this.#slots.has(id)) return false;
    const extra = height - this.#rowHeight;
    if (Math.abs(extra - (this.#extras.get(id) ?? 0)) < 0.01) return false;
    if (Math.abs(extra) < 0.01) this.#extras.delete(id);
    else this.#extras.set(id, extra);
    return true;
  }

  /** Called when a row is opened or closed, to reserve its height before it is drawn. */
  toggled(id: string, isOpen: boolean): void {
    if (isOpen && !this.#extras.has(id)) this.#extras.set(id, PANEL_HEIGHT);
    if (!isOpen) this.#extras.delete(id);
    this.changed();
    const slot = this.#slots.get(id);
    if (slot !== undefined && this.#measured(slot.element, slot.element.getBoundingClientRect().height)) this.changed();
  }
}

const PROBE: ListedEvent = { ...EMPTY_ROW, text: "x" };
