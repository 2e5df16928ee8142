import { fillGhost, fillRow } from "./row-view.ts";
import type { RowAppearance } from "./row-view.ts";
import type { ListedEvent } from "../rows/row.ts";

/** Panel under a row: the open event, or a note about skipped events. */
export type PanelKind = "event" | "gap";

/** Fills the element of a panel; returns a function that removes the content. */
export type MountPanel = (kind: PanelKind, id: string, element: HTMLElement) => () => void;

type Panel = { readonly element: HTMLElement; readonly unmount: () => void };

/**
 * The elements of one row and its panels. They are kept while the row is drawn, because they hold
 * the focus and selected text.
 */
export class Slot {
  readonly id: string;
  readonly element: HTMLElement = document.createElement("div");
  readonly row: HTMLElement = document.createElement("div");
  readonly #panels = new Map<PanelKind, Panel>();
  index = -1;
  #event: ListedEvent | undefined;
  #appearance: RowAppearance | null = null;
  #top = Number.NaN;

  constructor(id: string) {
    this.id = id;
    this.element.className = "slot";
    this.element.setAttribute("role", "none");
    this.element.dataset["id"] = id;
    this.row.setAttribute("role", "row");
    this.row.setAttribute("aria-level", "1");
    this.row.tabIndex = -1;
    this.element.append(this.row);
  }

  /** Draws the row if the event or the appearance has changed. */
  draw(event: ListedEvent | undefined, appearance: RowAppearance): void {
    if (this.#appearance === appearance && this.#event === event) return;
    this.#appearance = appearance;
    this.#event = event;
    if (event === undefined) fillGhost(this.row, appearance.columns.length);
    else fillRow(this.row, event, appearance);
    for (const { element } of this.#panels.values()) this.#colour(element);
  }

  place(index: number, top: number): void {
    if (this.index !== index) {
      this.index = index;
      // The head is the first row.
      this.row.setAttribute("aria-rowindex", String(index + 2));
    }
    if (this.#top === top) return;
    this.#top = top;
    this.element.style.top = `${top}px`;
  }

  /** Shows exactly these panels. */
  show(kinds: readonly PanelKind[], mount: MountPanel): void {
    const isOpen = String(kinds.includes("event"));
    if (this.row.getAttribute("aria-expanded") !== isOpen) this.row.setAttribute("aria-expanded", isOpen);
    for (const [kind, { element, unmount }] of this.#panels) {
      if (kinds.includes(kind)) continue;
      unmount();
      element.remove();
      this.#panels.delete(kind);
    }
    for (const kind of kinds) {
      if (this.#panels.has(kind)) continue;
      const element = document.createElement("div");
      element.className = kind === "event" ? "open" : "gap";
      element.setAttribute("role", "row");
      element.setAttribute("aria-level", "2");
      this.#colour(element);
      this.element.append(element);
      this.#panels.set(kind, { element, unmount: mount(kind, this.id, element) });
    }
  }

  panel(kind: PanelKind): HTMLElement | null {
    return this.#panels.get(kind)?.element ?? null;
  }

  remove(): void {
    for (const { unmount } of this.#panels.values()) unmount();
    this.#panels.clear();
    this.element.remove();
  }

  #colour(panel: HTMLElement): void {
    if (this.row.dataset["class"] === undefined) delete panel.dataset["class"];
    else panel.dataset["class"] = this.row.dataset["class"];
  }
}
