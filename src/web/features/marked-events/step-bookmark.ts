import { parseMoment } from "../../parts/api/types.ts";
import type { EventRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { readBookmarksBeside } from "./read-marked.ts";
import { bookmarkBeside } from "./marked.ts";
import type { StepStart } from "./marked.ts";

/** Returns the event that a row shows. */
function placeOf(row: Element | null): StepStart {
  const id = row instanceof HTMLElement ? row.dataset["id"] : undefined;
  const time = row?.querySelector("time")?.dateTime;
  return id === undefined || time === undefined ? null : { id, created: Date.parse(time) };
}

/** Returns the reader's event: that of the context, else that of the focused row. */
async function placeOfReader({ client, location }: App): Promise<StepStart> {
  const { screen, log, part } = location.place.peek();
  if (screen !== "context") return placeOf(document.activeElement?.closest("[data-id]") ?? null);
  const shown = placeOf(document.querySelector(`[data-id="${CSS.escape(part)}"]`));
  if (shown !== null) return shown;
  // Its neighbours are still loading.
  const { body } = await client.request<EventRecord>(`/1/logs/${log}/events/${part}`);
  return { id: part, created: parseMoment(body.created) };
}

/** Opens the next bookmark of any log among its neighbours, from the reader's event on. */
export async function goToBookmark(app: App, step: 1 | -1): Promise<void> {
  const from = await placeOfReader(app);
  const bookmarks = await readBookmarksBeside(app.client, from?.created ?? null, step);
  const found = bookmarkBeside(bookmarks, from, step);
  if (found === null) {
    const where = step === 1 ? "older" : "newer";
    app.toaster.show(from === null ? "There are no bookmarks yet" : `There is no ${where} bookmark`);
    return;
  }
  app.location.go({ screen: "context", log: found.log, part: found.id });
}
