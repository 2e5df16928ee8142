import type { App } from "../app.ts";
import { exactRange } from "../ask/range.ts";
import type { EventRow } from "../list/row.ts";
import type { Search } from "../state/search.ts";
import { copyText } from "./clipboard.ts";
import { copyAs, noteOfCopy } from "./copy.ts";
import type { CopyForm } from "./copy.ts";

type Copying = {
  readonly form: CopyForm;
  readonly row: EventRow;
  readonly readData: (row: EventRow) => Promise<string>;
};

/** Copies an event in one of its forms, and says so. */
export async function copyEvent({ toaster }: App, log: string, { form, row, readData }: Copying): Promise<void> {
  try {
    const needsData = row.data && (form === "text" || form === "json");
    const data = needsData ? await readData(row) : null;
    const text = copyAs(form, { event: row, data, log, api: window.location.origin });
    await copyText(text);
    toaster.show(noteOfCopy(text) ?? "Copied");
  } catch (fault) {
    toaster.show(`Not copied: ${fault instanceof Error ? fault.message : String(fault)}`);
  }
}

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
    const why = fault instanceof Error ? fault.message : String(fault);
    toaster.show(`The link was not copied: ${why}. The address bar holds it.`);
  }
}
