import type { App } from "../app.ts";
import { readMarked } from "../marks/read-marked.ts";
import { bookmarkBeside } from "../marks/marked.ts";
import type { From } from "../marks/marked.ts";

/** The event that a row shows. */
function placeOf(row: Element | null): From {
  const id = row instanceof HTMLElement ? row.dataset["id"] : undefined;
  const time = row?.querySelector("time")?.dateTime;
  return id === undefined || time === undefined ? null : { id, created: Date.parse(time) };
}

/** Leads from the event that the reader is at to the next bookmark of any log, among its neighbours. */
export async function goToBookmark(app: App, step: 1 | -1): Promise<void> {
  const { screen, part } = app.location.place.peek();
  const row =
    screen === "context"
      ? document.querySelector(`[data-id="${CSS.escape(part)}"]`)
      : document.activeElement?.closest("[data-id]");
  const from = placeOf(row ?? null);
  const { events } = await readMarked(app.client, "bookmarks");
  const found = bookmarkBeside(events, from, step);
  if (found === null) {
    const where = step === 1 ? "older" : "newer";
    app.toaster.show(events.length === 0 ? "There are no bookmarks yet" : `There is no ${where} bookmark`);
    return;
  }
  app.location.go({ screen: "context", log: found.log, part: found.id });
}
