import type { Screen } from "../../state/address.ts";
import { KEYS } from "../../parts/keys/table.ts";

type Bound = typeof KEYS;

/** Labels of the bound shortcuts. */
const LABELS: { readonly [Place in keyof Bound]: Readonly<Record<keyof Bound[Place], string>> } = {
  search: {
    query: "Query",
    range: "Range",
    fields: "Fields",
    histogram: "Histogram",
    live: "Live on or off",
    pause: "Pause or resume",
    order: "Newest or oldest first",
    columns: "Columns",
    export: "Export",
    save: "Save the query",
  },
  context: { back: "Back to the list" },
  inbox: { acknowledge: "Acknowledge", acknowledgeAll: "Acknowledge all", undo: "Undo" },
  bookmarks: { remove: "Remove", undo: "Undo" },
  list: {
    next: "Next event",
    previous: "Previous event",
    bookmark: "Bookmark",
    context: "Context",
    copyText: "Copy as text",
    copyJson: "Copy as JSON",
    copyLql: "Copy as LQL",
    copyCurl: "Copy as curl",
  },
  everywhere: {
    search: "Search",
    inbox: "Inbox",
    bookmarks: "Bookmarks",
    classes: "Classes",
    settings: "Settings",
    nextBookmark: "Next bookmark",
    previousBookmark: "Previous bookmark",
    help: "This list",
  },
};

/** A line of the list of shortcuts, with keys as in `Shortcut`. */
export type ShortcutLine = { readonly keys: readonly string[]; readonly label: string };

/** Keys that the focused element handles itself. */
const OF_LIST: readonly ShortcutLine[] = [
  { keys: ["ArrowUp", "ArrowDown"], label: "Move" },
  { keys: ["PageUp", "PageDown"], label: "Move by a page" },
  { keys: ["Home", "End"], label: "First, last loaded" },
  { keys: ["Enter"], label: "Open or close" },
];
const OF_QUERY: readonly ShortcutLine[] = [
  { keys: ["Enter"], label: "Run" },
  { keys: ["Shift+Enter"], label: "New line" },
  { keys: ["Alt+ArrowDown"], label: "Completions" },
  { keys: ["Tab"], label: "Take the first" },
  { keys: ["Escape"], label: "Close, cancel, then leave" },
];

type Listed = { readonly title: string; readonly screens: readonly Screen[]; readonly lines: readonly ShortcutLine[] };

const PLACES: readonly Listed[] = [
  { title: "Search", screens: ["search"], lines: linesOf("search") },
  { title: "Around an event", screens: ["context"], lines: linesOf("context") },
  { title: "Inbox", screens: ["inbox"], lines: linesOf("inbox") },
  { title: "Bookmarks", screens: ["bookmarks"], lines: linesOf("bookmarks") },
  {
    title: "In a list of events",
    screens: ["search", "context", "inbox", "bookmarks"],
    lines: [...OF_LIST, ...linesOf("list")],
  },
  { title: "In the query", screens: ["search", "context"], lines: OF_QUERY },
];
const EVERYWHERE = { title: "Everywhere", lines: linesOf("everywhere") };

function linesOf(place: keyof Bound): readonly ShortcutLine[] {
  const labels: Readonly<Record<string, string>> = LABELS[place];
  return Object.entries<readonly string[]>(KEYS[place]).map(([name, keys]) => ({ keys, label: labels[name]! }));
}

export type ListedPlace = Pick<Listed, "title" | "lines"> & {
  /** Whether its shortcuts act on the current screen. */
  readonly isHere: boolean;
};

/** Returns all shortcuts by place: those of a screen first, then those of the others. */
export function listedFor(screen: Screen): readonly ListedPlace[] {
  const [here, elsewhere] = [true, false].map((isHere) =>
    PLACES.filter(({ screens }) => screens.includes(screen) === isHere).map(({ title, lines }) => ({
      title,
      lines,
      isHere,
    })),
  );
  return [...here!, { ...EVERYWHERE, isHere: true }, ...elsewhere!];
}
