import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { apiAddress, faultMessage } from "../../parts/api/client.ts";
import type { App } from "../../state/app.ts";
import { readQuery, withClause } from "../../parts/query/compose.ts";
import { withRange } from "../../parts/query/range.ts";
import { Form, formValues } from "../../parts/controls/form.tsx";
import type { Run } from "../../state/search.ts";
import "../../css/blank.css";
import "../../css/forms.css";

const FORMATS = { csv: "CSV, for spreadsheets", ndjson: "NDJSON, a line of JSON each", xml: "XML" } as const;

export type ExportFormProperties = { readonly app: App; readonly run: Run; readonly close: () => void };

/** Exports all results of the query, in the order of the list, as a download by a ticket. */
export function ExportForm({ app, run, close }: ExportFormProperties): JSX.Element {
  const fault = useSignal<string | null>(null);
  const first = useRef<HTMLSelectElement>(null);
  // The dialog is shown before this form is loaded.
  useEffect(() => first.current?.focus(), []);
  const start = async (form: HTMLFormElement) => {
    const { format = "csv", attributes } = formValues(form);
    const path = exportPath(run, format, attributes === "on");
    try {
      const { body } = await app.client.request<{ ticket: string }>("/1/session/tickets", {
        method: "POST",
        json: { path },
      });
      download(`${path}&ticket=${encodeURIComponent(body.ticket)}`, `${run.log}.${format}`);
      close();
      app.toaster.show("The export began; the browser shows how far it is.");
    } catch (error) {
      fault.value = faultMessage(error);
    }
  };
  return (
    <Form class="form pad" onSubmit={(form) => void start(form)}>
      <div>
        <label for="format">Export all of the result as</label>
        <select ref={first} class="in" id="format" name="format">
          {Object.entries(FORMATS).map(([format, words]) => (
            <option value={format}>{words}</option>
          ))}
        </select>
      </div>
      <div class="tickbox">
        <input id="with-attributes" type="checkbox" name="attributes" defaultChecked />
        <label for="with-attributes">With attributes</label>
      </div>
      <p class="help">The same events in the same order as in the list, and not only those that are loaded.</p>
      {fault.value !== null && (
        <p class="err" role="alert">
          {fault.value}
        </p>
      )}
      <div class="save">
        <button class="btn solid" type="submit">
          Export
        </button>
      </div>
    </Form>
  );
}

/** Returns the path of a run's export: its query, its two moments and its order. */
export function exportPath(run: Run, format: string, attributes: boolean): string {
  const parsed = readQuery(run.query);
  let query = run.query;
  if (parsed !== null) {
    const sorted =
      parsed.isGrouped || parsed.clauses.has("sort") || parsed.query.table.name !== "events"
        ? parsed.text
        : withClause(parsed, "sort", `SORT created ${run.order.toUpperCase()}`);
    const whole = readQuery(sorted);
    query = whole === null ? sorted : withRange(whole, run.moments, run.zone);
  }
  return apiAddress(`/1/logs/${run.log}/export`, { query, tz: run.zone, format, ...(attributes && { attributes }) });
}

function download(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}
