import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { readQuery } from "../../parts/query/compose.ts";
import { rangeText, withRange } from "../../parts/query/range.ts";
import { withKey } from "../../parts/query/groups.ts";
import type { GroupRecord } from "../../parts/query/groups.ts";
import { countWithNoun, formatNumber } from "../../parts/text/numbers.ts";
import { ReadingLine, ReadingState, Unanswered } from "../../state/faults/reading-state.tsx";
import { useTitle } from "../../state/title.ts";
import { sendQuery } from "../../state/send-query.ts";
import type { Run, Search } from "../../state/search.ts";
import { useRead } from "../../state/use-read.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { cityOfZone } from "../../parts/time/zones.ts";
import { Chart, ChartButtons, chartChoice } from "./chart.tsx";
import { groupNames, namesOfKeys } from "./group-names.ts";
import { GroupTable } from "./group-table.tsx";
import {
  eventsOfGroup,
  groupsOfRecords,
  isAddedUp,
  keysOfQuery,
  measuredColumn,
  measuredBy,
  sortColumnOfQuery,
} from "../../parts/groups/model.ts";
import { readOrder, sortRows, writeOrder } from "./sort-rows.ts";
import type { GroupOrder } from "./sort-rows.ts";
import type { GroupRow, Groups } from "../../parts/groups/model.ts";
import "../../css/groups.css";
import "../../css/tables.css";

type Answer = {
  readonly groups: Groups;
  readonly took_ms: number;
  readonly keys: ReturnType<typeof keysOfQuery>;
  /** The column that the query sorts by. */
  readonly sortColumn: string | null;
  /** Initial order; null for the query's own, or that of times or bands. */
  readonly order: GroupOrder | null;
};

export type GroupsViewProperties = {
  readonly app: App;
  readonly search: Search;
  /** Shown beside the heading. */
  readonly note: JSX.Element;
  /** The actions on the result. */
  readonly actions: JSX.Element;
};

/** Shows a grouped query as a chart and a table; each group leads to its events. */
export function GroupsView({ app, search, note, actions }: GroupsViewProperties): JSX.Element {
  const run = search.run.value;
  const reading = useRead(run, () => readGroups(app, run), [], true);
  const { value: answer, error } = reading;
  const order = useComputed(() =>
    readOrder(app.location.place.value.parameters.get("sort") ?? "", answer.value?.groups ?? null),
  );
  const at = useSignal(-1);
  const formats = useMemo(() => formatsOfZone(run.zone), [run.zone]);
  const found = answer.value;
  // The drawn column is the one that the rows are sorted by.
  const measured = useComputed(() => {
    if (answer.value === null) return null;
    const sorted = order.value ?? answer.value.order;
    const column = measuredColumn(answer.value.groups, sorted?.column ?? answer.value.sortColumn);
    return { groups: measuredBy(answer.value.groups, column), column };
  });
  const rows = useComputed(() => sortRows(measured.value?.groups ?? null, order.value ?? answer.value?.order ?? null));
  const head = found !== null ? headOf(found.groups) : error.value === null ? "Searching…" : "No result";
  useTitle(app, head, search.log);
  const line = <ReadingLine search={search} reading={reading} />;
  const state = <ReadingState app={app} search={search} reading={reading} what="groups" />;
  if (found === null || measured.value === null)
    return (
      <Unanswered head={head}>
        {line}
        {state}
      </Unanswered>
    );
  const { groups, column } = measured.value;
  const names = groupNames({ app, search, groups, zone: run.zone, formats });
  const choice = chartChoice(groups, found.keys, app.location.place.value.parameters.get("chart"));
  const openEvents = (row: GroupRow) => {
    const { query, moments } = eventsOfGroup(
      run.typed,
      found.keys.length > 1 ? groups.keys : found.keys,
      row,
      run.zone,
    );
    search.query.value = query;
    if (moments === null) search.start();
    else search.narrow(moments);
  };
  return (
    <>
      <div class="found">
        <h1 id="found">{head}</h1>
        <span class="note">
          {groups.keys.length > 0 && `by ${namesOfKeys(found.keys)}, `}
          {rangeText(run.moments, formats)} {cityOfZone(run.zone)}, {found.took_ms.toFixed(0)} ms
        </span>
        {note}
        <span class="space" />
        <ChartButtons app={app} choice={choice} />
        {actions}
      </div>
      {line}
      <Chart
        choice={choice}
        groups={groups}
        rows={rows.value}
        column={column}
        formats={formats}
        names={names}
        at={at}
        openEvents={openEvents}
      />
      <GroupTable
        groups={groups}
        rows={rows.value}
        column={column}
        order={order.value ?? found.order}
        onOrder={(next) => app.location.note({ sort: writeOrder(next) })}
        at={at}
        formats={formats}
        nameOfKey={names.nameOfKey}
        classOf={names.classOf}
        openEvents={openEvents}
      />
      {state}
    </>
  );
}

async function readGroups({ client }: App, run: Run): Promise<Answer | null> {
  const parsed = readQuery(run.query);
  if (parsed === null) return null;
  const query = withRange(withKey(parsed), run.moments, run.zone);
  const { body, took_ms } = await sendQuery<GroupRecord>(client, run, query);
  const keys = keysOfQuery(parsed);
  const found = groupsOfRecords(keys, body, run.zone);
  // Without COLUMNS there are five columns; the last average or minimum of a series says little.
  const isChosen = parsed.clauses.has("columns") || found.keys.length === keys.length;
  const groups = isChosen ? found : { ...found, columns: found.columns.filter(isAddedUp) };
  const [column = null] = groups.columns;
  const isOrdered = parsed.clauses.has("sort") || groups.keys.some(({ kind }) => kind === "time" || kind === "bands");
  return {
    groups,
    took_ms,
    keys,
    sortColumn: sortColumnOfQuery(parsed),
    order: isOrdered ? null : { column, key: 0, isDescending: true },
  };
}

function headOf({ rows, columns, keys }: Groups): string {
  const groups = countWithNoun(rows.length, "group");
  if (keys.length === 0) return "All events in one";
  if (!columns.includes("count")) return groups;
  const events = rows.reduce((sum, { values }) => sum + Number(values["count"]), 0);
  return `${formatNumber(events)} events in ${groups}`;
}
