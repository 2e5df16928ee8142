import { rankOfWord } from "../../../events/level.ts";
import { cellText } from "../rows/columns.ts";
import type { ListColumn } from "../rows/columns.ts";
import { matchesIn } from "../text/highlight.ts";
import type { Needles } from "../text/highlight.ts";
import { shownLevel } from "../rows/row.ts";
import type { ListedEvent } from "../rows/row.ts";
import { cutText, visiblePieces } from "../text/visible-text.ts";

/** What a row shows besides its event. */
export type RowAppearance = {
  readonly columns: readonly ListColumn[];
  readonly needles: Needles;
  /** Formats the time of a moment. */
  readonly clock: (ms: number) => string;
  readonly className: (key: string) => string;
  readonly isBookmarked: (row: ListedEvent) => boolean;
  /** CSS classes: `at` for the sought event, `dim` for one that the query does not match. */
  readonly cssClasses: (row: ListedEvent) => readonly string[];
};

const CELLS: Readonly<Record<string, string>> = { class: "k", source: "s", text: "x", tags: "g", value: "n" };
const ICONS = { chevron: "M6 4l4 4-4 4", bookmark: "M4.5 2.5h7v11L8 10.5l-3.5 3z" };
const SVG = "http://www.w3.org/2000/svg";

/** Fills a row's element with new cells, keeping the element and its position. */
export function fillRow(element: HTMLElement, row: ListedEvent, appearance: RowAppearance): void {
  const isBookmarked = appearance.isBookmarked(row);
  const level = shownLevel(row);
  const classes = [
    ...appearance.cssClasses(row),
    ...(row.class === null ? ["bare"] : []),
    ...(isBookmarked ? ["flagged"] : []),
  ];
  element.className = ["row", ...classes].join(" ");
  if (classes.includes("at")) element.setAttribute("aria-current", "true");
  else element.removeAttribute("aria-current");
  if (row.class === null) delete element.dataset["class"];
  else element.dataset["class"] = row.class;
  if (level === undefined) delete element.dataset["level"];
  else element.dataset["level"] = level;
  element.replaceChildren(
    timeCell(row, appearance, isBookmarked),
    ...appearance.columns.map(({ name }) => cellOf(row, name, appearance)),
  );
}

/** Draws a placeholder for a row that is being read again. */
export function fillGhost(element: HTMLElement, columns: number): void {
  element.removeAttribute("aria-current");
  delete element.dataset["level"];
  element.className = "row bare";
  const bars = ["a", "b", "c"].slice(0, Math.min(3, columns)).map((width) => {
    const cell = gridcell("");
    const bar = document.createElement("span");
    bar.className = `ghost ${width}`;
    cell.append(bar);
    return cell;
  });
  element.replaceChildren(...bars);
}

function timeCell(row: ListedEvent, { clock }: RowAppearance, isBookmarked: boolean): HTMLElement {
  const cell = gridcell("t");
  const sign = document.createElement("span");
  sign.className = isBookmarked ? "flag" : "more";
  if (isBookmarked) sign.title = "Bookmarked";
  else sign.setAttribute("aria-hidden", "true");
  sign.append(iconOf(isBookmarked ? ICONS.bookmark : ICONS.chevron));
  if (isBookmarked) sign.append(hiddenText("Bookmarked, "));
  const time = document.createElement("time");
  time.dateTime = new Date(row.created).toISOString();
  time.textContent = clock(row.created);
  cell.append(sign, time);
  return cell;
}

function cellOf(row: ListedEvent, name: string, appearance: RowAppearance): HTMLElement {
  const cell = gridcell(CELLS[name] ?? (name.startsWith("@") ? "a" : "s"));
  if (name === "tags") {
    cell.append(
      ...row.tags.map((tag) => {
        const part = document.createElement("span");
        if (rankOfWord(tag) !== null) part.className = "lv";
        return withPieces(part, tag, appearance.needles.get("tags"));
      }),
    );
    return cell;
  }
  const text = name === "class" && row.class !== null ? appearance.className(row.class) : cellText(row, name);
  return withPieces(cell, cutText(text), appearance.needles.get(name));
}

/** Appends a text to an element: matches marked, invisible characters named. */
export function withPieces(element: HTMLElement, text: string, needles: readonly string[] | undefined): HTMLElement {
  for (const piece of visiblePieces(text, matchesIn(text, needles))) {
    if (piece.kind === "plain") {
      element.append(piece.text);
      continue;
    }
    const part = document.createElement(piece.kind === "match" ? "mark" : "span");
    if (piece.kind === "control") part.className = "control";
    part.textContent = piece.text;
    element.append(part);
  }
  return element;
}

function gridcell(className: string): HTMLElement {
  const cell = document.createElement("span");
  cell.setAttribute("role", "gridcell");
  if (className !== "") cell.className = className;
  return cell;
}

function hiddenText(text: string): HTMLElement {
  const hidden = document.createElement("span");
  hidden.className = "sr";
  hidden.textContent = text;
  return hidden;
}

function iconOf(path: string): SVGElement {
  const icon = document.createElementNS(SVG, "svg");
  icon.setAttribute("class", "i");
  icon.setAttribute("viewBox", "0 0 16 16");
  icon.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  icon.append(line);
  return icon;
}
