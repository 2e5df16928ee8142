import type { App } from "../../state/app.ts";
import { createBookmarks } from "../../state/bookmarks.ts";
import type { Bookmarks } from "../../state/bookmarks.ts";
import { copyText } from "../../parts/text/clipboard.ts";
import { dataActions } from "../../state/actions/data-actions.ts";
import type { EventActions } from "../../parts/event/event-actions.ts";
import { actWith } from "../../parts/controls/act-with.ts";
import { mayChange } from "../../state/roles.ts";
import type { MarkedEvent } from "./marked.ts";

/** Returns the actions on an event of a list across logs. */
export function markedActions(app: App, { log }: MarkedEvent, bookmarks: Bookmarks): EventActions {
  const { location, toaster } = app;
  const ofData = dataActions(app, log);
  return {
    isBookmarked: bookmarks.has,
    bookmark: (row) => void bookmarks.toggle(row),
    copy: (form, row) =>
      actWith(app, "Not copied", import("../../state/actions/copy-actions.ts"), ({ copyEvent }) =>
        copyEvent(app, log, { form, row, readData: ofData.readData }),
      ),
    copyLink: ({ id }) => {
      const address = location.link({ screen: "context", log, part: id });
      const link = `${window.location.origin}${window.location.pathname}${address}`;
      actWith(app, "Not copied", copyText(link), () => toaster.show("Link copied"));
    },
    context: ({ id }) => location.go({ screen: "context", log, part: id }),
    makeClass: mayChange(app, log)
      ? ({ id }) => location.go({ screen: "classes", log, parameters: new Map([["event", id]]) })
      : null,
    // There is no query to change here.
    showAlike: null,
    onValue: null,
    isColumn: () => false,
    countAlike: () => Promise.resolve(0),
    ...ofData,
  };
}

/** Returns the reader's bookmarks by log; those of a log are read when first needed. */
export function bookmarksByLog(app: App): (log: string) => Bookmarks {
  const known = new Map<string, Bookmarks>();
  return (log) => {
    const found = known.get(log) ?? createBookmarks(app, log);
    known.set(log, found);
    return found;
  };
}
