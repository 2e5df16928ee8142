import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo } from "preact/hooks";

import type { App } from "../../state/app.ts";
import type { GroupRecord } from "../../parts/query/groups.ts";
import { BEGINNING } from "../../parts/query/range.ts";
import { stepOfRange } from "../../parts/query/steps.ts";
import type { QueryStep } from "../../parts/query/steps.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { shortcut } from "../../parts/keys/table.ts";
import { MenuButton } from "../../parts/controls/menu.tsx";
import { sendQuery } from "../../state/send-query.ts";
import type { Run, Search } from "../../state/search.ts";
import { useRead } from "../../state/use-read.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { barsQuery, columnsOfRange, partKeysOfColumns } from "../../parts/histogram/bars.ts";
import type { HistogramColumn, Measure } from "../../parts/histogram/bars.ts";
import { measureItems, measureName, readMeasure, writeMeasure } from "./measure.ts";
import type { ColumnTableProperties } from "./column-table.tsx";
import { HistogramPlot } from "../../parts/histogram/plot.tsx";
import { lazy } from "../../parts/controls/lazy.tsx";

const ColumnTable = lazy<ColumnTableProperties>(async () => (await import("./column-table.tsx")).ColumnTable);

type Shown = {
  readonly columns: readonly HistogramColumn[];
  readonly isCount: boolean;
  readonly step: QueryStep;
  readonly zone: string;
};

/** Shows the events over time, stacked by class and level. Narrowing the range adds a history entry. */
export function Histogram({ app, search, run }: { app: App; search: Search; run: Run }): JSX.Element {
  const { parameters } = app.location.place.value;
  const [by = "", split = ""] = [parameters.get("by"), parameters.get("split")];
  const measure = useMemo(() => readMeasure(by, split), [by, split]);
  const isTable = useSignal(false);
  const { value: shown, fault } = useRead(run, () => readColumns(app, run, measure), [measure]);
  const { names: fields, read: readFields } = useNumberFields(app, run);
  useLayoutEffect(
    () =>
      app.shortcuts.bind([
        shortcut("search", "histogram", () => document.querySelector<SVGElement>(".hist [role=listbox]")?.focus()),
      ]),
    [],
  );
  const zone = shown.value?.zone ?? run.zone;
  const formats = useComputed(() => formatsOfZone(shown.value?.zone ?? search.run.value.zone));
  const label = `${measureName(measure)} over time`;
  const found = shown.value;
  return (
    <figure class="hist" aria-label={label} data-zone={zone}>
      <div class="tools">
        <MenuButton
          class=""
          label={`Measure: ${measureName(measure)}`}
          items={measureItems(measure, fields, (next) => app.location.note(writeMeasure(next)))}
          menuClass="under"
          onOpen={readFields}
        >
          {measureName(measure)} <Icon name="down" />
        </MenuButton>
        <span>{(found === null ? null : (fault.value ?? found.step.name)) ?? ""}</span>
        <button type="button" aria-pressed={isTable.value} onClick={() => (isTable.value = !isTable.value)}>
          Table
        </button>
      </div>
      {found === null && fault.value !== null && <p class="note">{fault.value}</p>}
      {found !== null &&
        (isTable.value ? (
          <ColumnTable
            columns={found.columns}
            parts={partKeysOfColumns(found.columns, weightsOf(app, run.log))}
            formats={formats.value}
            measure={measureName(measure)}
            nameOf={(key) => app.classes.nameOf(run.log, key)}
            narrow={search.narrow}
          />
        ) : (
          <HistogramPlot
            label={label}
            columns={found.columns}
            isCount={found.isCount}
            formats={formats.value}
            nameOf={(key) => app.classes.nameOf(run.log, key)}
            narrow={search.narrow}
          />
        ))}
    </figure>
  );
}

async function readColumns(app: App, run: Run, measure: Measure): Promise<Shown | null> {
  const moments =
    run.moments.from === BEGINNING
      ? await (await import("../../state/beginning.ts")).sinceFirstEvent(app, run)
      : run.moments;
  const step = stepOfRange(moments);
  const query = barsQuery(run.query, moments, run.zone, step, measure);
  // The list reports the error of the query.
  if (query === null) return null;
  const { body } = await sendQuery<GroupRecord>(app.client, run, query);
  const columns = columnsOfRange(body, step, moments, run.zone, weightsOf(app, run.log), measure.kind);
  return { columns, isCount: measure.kind === "count", step, zone: run.zone };
}

/** Returns the class keys of a log, heaviest first. */
function weightsOf(app: App, log: string): readonly string[] {
  return (app.classes.byLog.peek().get(log) ?? []).map(({ key }) => key);
}

/** Returns the log's numeric fields; only `value` until `read` has completed. */
function useNumberFields({ client }: App, { log }: Run): { readonly names: readonly string[]; read: () => void } {
  const known = useSignal<{ readonly log: string; readonly names: readonly string[] } | null>(null);
  const readFields = async () => {
    const query = { prefix: "@", values: 0 };
    const { body } = await client.request<readonly { name: string; kind: string }[]>(`/1/logs/${log}/fields`, {
      query,
    });
    known.value = { log, names: ["value", ...body.filter(({ kind }) => kind === "number").map(({ name }) => name)] };
  };
  const read = () => {
    // If that fails, only `value` can be measured.
    if (known.peek()?.log !== log) readFields().catch(() => undefined);
  };
  return { names: known.value?.log === log ? known.value.names : ["value"], read };
}
