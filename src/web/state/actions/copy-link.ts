import { faultMessage } from "../../parts/api/client.ts";
import type { App } from "../app.ts";
import { exactRange } from "../../parts/query/range.ts";
import { writeRange } from "../../parts/query/range-address.ts";
import { copyText } from "../../parts/text/clipboard.ts";
import { DEFAULT_COLUMNS } from "../../parts/rows/columns.ts";
import type { ListedEvent } from "../../parts/rows/row.ts";
import { changedParameters } from "../location.ts";
import type { Search } from "../search.ts";

const STANDARD_COLUMNS = DEFAULT_COLUMNS.map(({ name }) => name).join(",");

/**
 * Copies a link that shows the same to others, also later: it names the run's two moments, the
 * zone, the columns and the hidden classes, and does not follow new events.
 *
 * @param open the event to open, if any
 */
export async function copyLink(
  { location, preferences, toaster }: App,
  search: Search,
  open: ListedEvent | null,
): Promise<void> {
  const { moments, zone, hidden } = search.run.peek();
  const { parameters: present } = location.place.peek();
  const columns = present.get("cols") ?? preferences.now.peek().columns[search.log]?.join(",");
  const parameters = changedParameters(present, {
    t: null,
    live: null,
    ...writeRange(exactRange(moments)),
    tz: zone,
    hide: hidden.join(","),
    cols: columns || STANDARD_COLUMNS,
    ...(open !== null && { open: open.id }),
  });
  const link = new URL(location.link({ parameters }), window.location.href).href;
  try {
    await copyText(link);
    toaster.show("The link was copied. It shows these events, whenever it is opened.");
  } catch (fault) {
    toaster.show(`The link was not copied: ${faultMessage(fault)}. The address bar holds it.`);
  }
}
