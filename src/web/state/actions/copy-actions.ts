import type { App } from "../app.ts";
import type { ListedEvent } from "../../parts/rows/row.ts";
import { copyText } from "../../parts/text/clipboard.ts";
import { copyAs, noteOfCopy } from "../../parts/event/copy.ts";
import type { CopyForm } from "../../parts/event/copy.ts";

type Copying = {
  readonly form: CopyForm;
  readonly row: ListedEvent;
  readonly readData: (row: ListedEvent) => Promise<string>;
};

/** Copies a value and confirms it. @throws Error if the browser does not allow it */
export async function copyValue({ toaster }: App, value: string): Promise<void> {
  await copyText(value);
  toaster.show("Copied");
}

/** Copies an event in one of its forms, and reports the result. */
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
