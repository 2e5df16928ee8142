import type { App } from "../app.ts";
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

/** A link that shows the same to others, and tomorrow: its range is that of the run, in moments. */
export async function copyLink({ location, toaster }: App, search: Search, row: EventRow): Promise<void> {
  const { moments } = search.run.peek();
  const parameters = new Map(location.place.peek().parameters);
  parameters.set("from", String(moments.from));
  parameters.set("to", String(moments.to));
  parameters.set("open", row.id);
  const link = `${window.location.origin}${window.location.pathname}${location.link({ parameters })}`;
  try {
    await copyText(link);
    toaster.show("Link copied");
  } catch (fault) {
    toaster.show(`Not copied: ${fault instanceof Error ? fault.message : String(fault)}`);
  }
}
