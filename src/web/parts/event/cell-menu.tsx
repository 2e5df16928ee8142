import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { visibleText } from "../text/visible-text.ts";
import { Menu } from "../controls/menu.tsx";
import type { MenuItem, MenuItems } from "../controls/menu.tsx";
import type { CellMenuProperties } from "./event-actions.ts";
import { attributesOfEvent, detailsOfEvent } from "./details.ts";
import { itemsFor } from "./details-view.tsx";
import "../../css/event.css";

const EDGE = 8;

/** The menu of a cell or row: queries for its values, and actions on its event. */
export function CellMenu(properties: CellMenuProperties): JSX.Element {
  const { place, onClose } = properties;
  const root = useRef<HTMLDivElement>(null);
  // A redrawn row has other cells.
  const asked = useMemo(() => askedOf(properties), [place]);
  useLayoutEffect(() => {
    const { style } = root.current!;
    const cell = asked.element.getBoundingClientRect();
    const { width, height } = root.current!.getBoundingClientRect();
    const isBelow = cell.bottom + height + EDGE <= innerHeight;
    style.left = `${Math.max(EDGE, Math.min(cell.left, innerWidth - width - EDGE))}px`;
    style.top = `${isBelow ? cell.bottom : Math.max(EDGE, cell.top - height)}px`;
    const list = place.row.closest("#list");
    const close = (): void => onClose(false);
    list?.addEventListener("scroll", close, { once: true });
    return () => list?.removeEventListener("scroll", close);
  }, [place]);
  return (
    <div ref={root} class="cell-menu">
      <Menu
        key={place}
        label={`Menu of ${visibleText(asked.field ?? "the event")}`}
        items={itemsOf(properties, asked)}
        onClose={onClose}
      />
    </div>
  );
}

type Asked = {
  /** The field of the cell; null for the row as a whole. */
  readonly field: string | null;
  /** Index of the value in the cell; -1 for all of them. */
  readonly index: number;
  /** The element that the menu is placed beside. */
  readonly element: Element;
};

function askedOf({ place, columns }: CellMenuProperties): Asked {
  const cells = [...place.row.children];
  const at = cells.findIndex((cell) => cell.contains(place.target));
  const cell = cells[at];
  if (cell === undefined) return { field: null, index: -1, element: place.row };
  // The first cell is the time.
  const field = at === 0 ? "created" : (columns[at - 1]?.name ?? null);
  const index = field === "tags" ? [...cell.children].findIndex((tag) => tag.contains(place.target)) : -1;
  return { field, index, element: cell };
}

function itemsOf({ row, columns, actions, formats }: CellMenuProperties, { field, index }: Asked): MenuItems {
  const details = [...detailsOfEvent(row, formats), ...attributesOfEvent(row)];
  const ofEvent: MenuItem[] = [
    {
      label: actions.isBookmarked(row) ? "Remove the bookmark" : "Bookmark",
      hint: "b",
      act: () => actions.bookmark(row),
    },
    ...(actions.context === null ? [] : [{ label: "Context", hint: "c", act: () => actions.context?.(row) }]),
    { label: "Copy text", hint: "y t", act: () => actions.copy("text", row) },
    ...(actions.showAlike === null ? [] : [{ label: "Only events like this", act: () => actions.showAlike?.(row) }]),
  ];
  if (field === null) {
    const shown = details.filter((detail) => columns.some(({ name }) => name === detail.field));
    const conditions = shown.flatMap((detail) =>
      detail.values.flatMap((value) => itemsFor(detail.field, value, actions)[0] ?? []),
    );
    return [conditions, ofEvent].filter((group) => group.length > 0);
  }
  const values = details.find((detail) => detail.field === field)?.values ?? [];
  const asked = index === -1 ? values : values.slice(index, index + 1);
  return [...asked.flatMap((value) => itemsFor(field, value, actions)), ofEvent];
}
