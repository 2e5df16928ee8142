import { wordsOf } from "../api/client.ts";
import type { App } from "../app.ts";
import { exactRange } from "../ask/range.ts";
import { copyText } from "../event/clipboard.ts";
import type { EventRow } from "../list/row.ts";
import type { Search } from "../state/search.ts";

/**
 * Copies a link that shows the same to others, and tomorrow: its range is the two moments of the run,
 * its zone and the classes that it hides are named.
 *
 * @param open the event that it opens, if any
 */
export async function copyLink({ location, toaster }: App, search: Search, open: EventRow | null): Promise<void> {
  const { moments, zone, hidden } = search.run.peek();
  const { from, to } = exactRange(moments);
  const parameters = new Map(location.place.peek().parameters);
  parameters.set("from", from).set("to", to).set("tz", zone).set("hide", hidden.join(","));
  if (open !== null) parameters.set("open", open.id);
  const link = new URL(location.link({ parameters }), window.location.href).href;
  try {
    await copyText(link);
    toaster.show("The link was copied. It shows these events, whenever it is opened.");
  } catch (fault) {
    toaster.show(`The link was not copied: ${wordsOf(fault)}. The address bar holds it.`);
  }
}
