import type { Shortcut } from "./registry.ts";

/** The keys of the page's shortcuts, by where they act. `listed.ts` says what each does. */
export const KEYS = {
  search: {
    query: ["/"],
    range: ["t"],
    fields: ["f"],
    histogram: ["h"],
    live: ["l"],
    pause: ["p"],
    order: ["o"],
    columns: ["v"],
    export: ["x"],
    save: ["s"],
  },
  context: { back: ["Escape"] },
  inbox: { acknowledge: ["e"], acknowledgeAll: ["Shift+e"], undo: ["z"] },
  bookmarks: { remove: ["b"], undo: ["z"] },
  list: {
    next: ["j"],
    previous: ["k"],
    bookmark: ["b"],
    context: ["c"],
    copyText: ["y", "t"],
    copyJson: ["y", "j"],
    copyLql: ["y", "l"],
    copyCurl: ["y", "u"],
  },
  everywhere: {
    search: ["g", "s"],
    inbox: ["g", "i"],
    bookmarks: ["g", "b"],
    classes: ["g", "c"],
    settings: ["g", "t"],
    nextBookmark: ["n"],
    previousBookmark: ["Shift+n"],
    help: ["?"],
  },
} as const satisfies Record<string, Readonly<Record<string, Shortcut["keys"]>>>;

/** Binds a shortcut of the table: `shortcut("search", "range", openRange)`. */
export function shortcut<Place extends keyof typeof KEYS>(
  place: Place,
  name: keyof (typeof KEYS)[Place],
  act: () => void,
): Shortcut {
  return { keys: KEYS[place][name] as Shortcut["keys"], act };
}
