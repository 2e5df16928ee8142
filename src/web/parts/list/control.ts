import type { Signal } from "@preact/signals";

import { isSecondOfTwo, togglesRow } from "./gesture.ts";
import type { Press, Release } from "./gesture.ts";
import { ListView } from "./list-view.ts";
import type { ListMemory, ListViewOptions } from "./list-view.ts";
import type { RowSource } from "../rows/row-source.ts";

/** Reasons to keep the list still. */
export type HoldReason = "scrolled" | "opened" | "selected" | "focused" | "pressed" | "menu";

/** Where a menu was requested: an element of a row, or the row itself for the keyboard. */
export type MenuPlace = { readonly id: string; readonly row: HTMLElement; readonly target: Element };

export type ListControlOptions = Omit<ListViewOptions, "panelsOf" | "onScroll"> & {
  readonly opened: Signal<ReadonlySet<string>>;
  /** Ids of rows that are followed by a note about skipped events. */
  readonly gaps: () => ReadonlySet<string>;
  readonly onHold: (reason: HoldReason) => void;
  /** Called when the pointer that pressed the list is released, after its click is handled. */
  readonly onRelease: () => void;
  /** Called when the last row is requested and further ones are not loaded yet. */
  readonly onPartEnd?: () => void;
  /** Called on a right click and on the menu key. */
  readonly onMenu: (place: MenuPlace) => void;
};

const CONTROLS = "a, button, input, select, textarea, [role='menu'], iframe";

/** Connects a list to its input: pointer, keys, opening and closing of rows. */
export class ListControl {
  readonly view: ListView;
  readonly #options: ListControlOptions;
  readonly #listening = new AbortController();
  #source: RowSource;
  #press: Press | null = null;
  #wasSelecting = false;
  /** The row that the last click toggled, so that a double click can undo it. */
  #toggled: string | null = null;

  constructor(options: ListControlOptions) {
    this.#options = options;
    this.#source = options.source;
    this.view = new ListView({
      ...options,
      panelsOf: (id) => {
        const isOpen = options.opened.peek().has(id);
        const isGap = options.gaps().has(id);
        return [...(isOpen ? (["event"] as const) : []), ...(isGap ? (["gap"] as const) : [])];
      },
      onScroll: () => options.onHold("scrolled"),
    });
    this.#listen();
  }

  destroy(): void {
    this.#listening.abort();
    this.view.destroy();
  }

  use(source: RowSource, appearance: ListViewOptions["appearance"], start: ListMemory | null): void {
    this.#source = source;
    this.view.use(source, appearance, start);
  }

  isOpen(id: string): boolean {
    return this.#options.opened.peek().has(id);
  }

  toggle(id: string): void {
    this.setOpen(id, !this.isOpen(id));
  }

  setOpen(id: string, isOpen: boolean): void {
    const { opened, onHold } = this.#options;
    if (opened.peek().has(id) === isOpen) return;
    const next = new Set(opened.peek());
    if (isOpen) next.add(id);
    else next.delete(id);
    if (isOpen) onHold("opened");
    const hadFocus = this.view.slotOf(id)?.panel("event")?.contains(document.activeElement) === true;
    opened.value = next;
    this.view.toggled(id, isOpen);
    if (hadFocus && !isOpen) this.focus(id);
  }

  focus(id: string): void {
    const index = this.#source.indexOf(id);
    if (index !== -1) this.view.focus(index);
  }

  /** Focuses a row if no element has the focus because the focused one was removed. */
  takeFocus(id: string): void {
    if (document.activeElement === null || document.activeElement === document.body) this.focus(id);
  }

  /** The row that keys act on: the focused one, else the tab stop. */
  get current(): string | null {
    return this.view.slotAt(document.activeElement)?.id ?? this.view.current;
  }

  /** Moves the focus by a number of rows; from outside the list, to the current row first. */
  move(by: number): void {
    const focused = this.view.slotAt(document.activeElement);
    const from = this.#source.indexOf(focused?.id ?? this.view.current ?? "");
    const { seen } = this.view;
    const isNear = from >= seen.from && from < seen.to;
    const to = focused !== undefined ? from + by : isNear ? from : seen.from;
    this.#focusIndex(to);
  }

  #focusIndex(index: number): void {
    this.#options.onHold("focused");
    this.view.focus(Math.max(0, Math.min(this.#source.length.peek() - 1, index)));
  }

  #listen(): void {
    const { canvas } = this.#options;
    const { signal } = this.#listening;
    canvas.addEventListener("pointerdown", (event) => this.#pressed(event), { signal });
    for (const end of ["pointerup", "pointercancel"] as const) {
      // Delayed, so that the click is handled first.
      document.addEventListener(end, () => setTimeout(() => this.#options.onRelease()), { signal });
    }
    canvas.addEventListener("click", (event) => this.#clicked(event), { signal });
    canvas.addEventListener("keydown", (event) => this.#keyPressed(event), { signal });
    canvas.addEventListener("focusin", (event) => this.#focused(event), { signal });
    canvas.addEventListener("contextmenu", (event) => this.#menuAsked(event), { signal });
    document.addEventListener("selectionchange", () => this.#selectionChanged(), { signal });
  }

  #isSelecting(): boolean {
    const selection = document.getSelection();
    if (selection === null || selection.isCollapsed) return false;
    return selection.rangeCount > 0 && selection.getRangeAt(0).intersectsNode(this.#options.canvas);
  }

  #selectionChanged(): void {
    if (this.#isSelecting()) this.#options.onHold("selected");
  }

  #pressed(event: PointerEvent): void {
    this.#press = { x: event.clientX, y: event.clientY, time_ms: event.timeStamp };
    this.#wasSelecting = this.#isSelecting();
    this.#options.onHold("pressed");
  }

  #clicked(event: MouseEvent): void {
    const row = rowOf(event.target);
    const id = this.view.slotAt(row)?.id;
    if (row === null || id === undefined || isControl(event.target, row)) return;
    const release: Release = {
      x: event.clientX,
      y: event.clientY,
      button: event.button,
      clicks: event.detail,
      isSelecting: this.#isSelecting(),
      wasSelecting: this.#wasSelecting,
      hasModifier: event.shiftKey || event.ctrlKey || event.metaKey || event.altKey,
    };
    if (togglesRow(this.#press, release)) {
      this.toggle(id);
      this.#toggled = id;
    } else if (isSecondOfTwo(release) && this.#toggled === id) {
      this.toggle(id);
      this.#toggled = null;
    } else this.#toggled = null;
  }

  #focused(event: FocusEvent): void {
    const slot = this.view.slotAt(event.target as Node);
    if (slot === undefined) return;
    this.view.setCurrent(slot.id);
    if (slot.row === event.target && slot.row.matches(":focus-visible")) this.#options.onHold("focused");
  }

  #menuAsked(event: MouseEvent): void {
    const row = rowOf(event.target);
    const id = this.view.slotAt(row)?.id;
    // The browser's own menu is kept for copying the selection.
    if (row === null || id === undefined || this.#isSelecting()) return;
    event.preventDefault();
    this.#options.onHold("menu");
    this.#options.onMenu({ id, row, target: event.target as Element });
  }

  #keyPressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const slot = this.view.slotAt(event.target as Node);
    if (slot === undefined) return;
    const isHandled = event.target === slot.row ? this.#onRow(event.key, slot.id) : this.#inPanel(event, slot.id);
    if (!isHandled) return;
    event.preventDefault();
    event.stopPropagation();
  }

  #onRow(key: string, id: string): boolean {
    const index = this.#source.indexOf(id);
    const { seen } = this.view;
    const page = Math.max(1, seen.to - seen.from - 2);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + page,
      PageUp: index - page,
      Home: 0,
      End: Infinity,
    };
    const to = steps[key];
    if (to !== undefined) {
      if (key === "End" && !this.#source.isComplete.peek()) this.#options.onPartEnd?.();
      this.#focusIndex(to);
    } else if (key === "Enter") this.toggle(id);
    else if (key === "ArrowRight") this.#openOrEnter(id);
    else if ((key === "ArrowLeft" || key === "Escape") && this.isOpen(id)) this.setOpen(id, false);
    else return false;
    return true;
  }

  #openOrEnter(id: string): void {
    if (!this.isOpen(id)) this.setOpen(id, true);
    else this.view.slotOf(id)?.panel("event")?.querySelector<HTMLElement>("button, a[href]")?.focus();
  }

  #inPanel(event: KeyboardEvent, id: string): boolean {
    if (event.key !== "Escape") return false;
    this.focus(id);
    return true;
  }
}

/** Returns the row of an event; null if it happened in a panel. */
function rowOf(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>(".slot > .row") : null;
}

function isControl(target: EventTarget | null, row: HTMLElement): boolean {
  const control = target instanceof Element ? target.closest(CONTROLS) : null;
  return control !== null && row.contains(control);
}
