import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { bandText } from "../../parts/query/choices.ts";
import { readQuery } from "../../parts/query/compose.ts";
import { rangeText, withRange } from "../../parts/query/range.ts";
import { bandOfKey, withKey } from "../../parts/query/groups.ts";
import type { GroupRecord } from "../../parts/query/groups.ts";
import { visibleText } from "../../parts/text/visible-text.ts";
import { countWithNoun, formatNumber } from "../../parts/text/numbers.ts";
import { ReadingLine, ReadingState, Unanswered } from "../../state/faults/reading-state.tsx";
import { lazy } from "../../parts/controls/lazy.tsx";
import { useTitle } from "../../state/title.ts";
import { sendQuery } from "../../state/send-query.ts";
import type { Run, Search } from "../../state/search.ts";
import { useRead } from "../../state/use-read.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { cityOfZone } from "../../parts/time/zones.ts";
import type { Formats } from "../../parts/time/moments.ts";
import { BarChart, MOST_BARS } from "./bars.tsx";
import { GroupTable } from "./group-table.tsx";
import { momentsOfKey } from "../../parts/groups/key-moments.ts";
import { LineChart, MOST_LINES } from "../../parts/groups/lines.tsx";
import {
  columnText,
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
import type { GroupKey, GroupRow, Groups } from "../../parts/groups/model.ts";
import type { PlaceMapProperties } from "./place-map.tsx";
import "../../css/groups.css";
import "../../css/tables.css";

const PlaceMap = lazy<PlaceMapProperties>(async () => (await import("./place-map.tsx")).PlaceMap);

type Chart = "Map" | "Lines" | "Bars" | "None";

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
  const { parameters } = app.location.place.value;
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
  const { keys } = found;
  const { groups, column } = measured.value;
  const nameOfKey = (index: number, value: string) => {
    const key = groups.keys[index];
    if (key?.kind === "time") return timeText(key, value, run.zone, formats);
    if (value === "") return key?.name === "class" ? "No class" : "none";
    if (key?.kind === "bands") return bandText(bandOfKey(value)!);
    if (key?.kind === "place") return value.replace(",", ", ");
    return key?.name === "class" ? app.classes.nameOf(search.log, value) : visibleText(value);
  };
  const nameOf = ({ keys: values }: GroupRow) => values.map((value, index) => nameOfKey(index, value)).join(", ");
  // A bar has room for an hour or a day, not for both.
  const axisNameOf = (row: GroupRow) =>
    groups.keys[0]?.kind === "time" ? nameOf(row).replace(/^\d+ \w+ (?=\d\d:)|^[A-Z]\w+ /, "") : nameOf(row);
  const classKey = groups.keys.findIndex(({ name }) => name === "class");
  const classOf = ({ keys: values }: GroupRow) => values[classKey] || undefined;
  const hasCourse = groups.times.length > 1 && keys.length > 1;
  const isOfPlaces = groups.keys.length === 1 && groups.keys[0]?.kind === "place";
  const isOfTimes = keys.some(({ kind }) => kind === "time");
  const charts: readonly Chart[] = [
    ...(isOfPlaces ? ["Map" as const] : []),
    ...(isOfTimes ? ["Lines" as const] : []),
    "Bars",
    "None",
  ];
  const usable = charts.filter((name) => name !== "Lines" || hasCourse);
  const shown =
    usable.find((name) => name.toLowerCase() === parameters.get("chart")) ??
    (isOfPlaces ? "Map" : hasCourse ? "Lines" : "Bars");
  const openEvents = (row: GroupRow) => {
    const { query, moments } = eventsOfGroup(run.typed, keys.length > 1 ? groups.keys : keys, row, run.zone);
    search.query.value = query;
    if (moments === null) search.start();
    else search.narrow(moments);
  };
  const by = groups.keys.map(({ name }) => visibleText(name)).join(" and ");
  const label = `${visibleText(column)} by ${by}. The table below holds the numbers.`;
  // A line shows all values of its column, a bar the one of its row.
  const what = `${visibleText(columnText(column, hasCourse && shown !== "Lines"))} by ${by}`;
  return (
    <>
      <div class="found">
        <h1 id="found">{head}</h1>
        <span class="note">
          {groups.keys.length > 0 && `by ${keys.map(({ name }) => visibleText(name)).join(" and ")}, `}
          {rangeText(run.moments, formats)} {cityOfZone(run.zone)}, {found.took_ms.toFixed(0)} ms
        </span>
        {note}
        <span class="space" />
        <div class="seg hide-small" role="group" aria-label="Chart">
          {charts.map((name) => (
            <button
              type="button"
              aria-pressed={name === shown}
              disabled={!usable.includes(name)}
              onClick={() => app.location.note({ chart: name.toLowerCase() })}
            >
              {name}
            </button>
          ))}
        </div>
        {actions}
      </div>
      {line}
      {shown === "Map" && (
        <figure class="chart map">
          <PlaceMap rows={rows.value} column={column} nameOf={nameOf} at={at} label={label} openEvents={openEvents} />
        </figure>
      )}
      {shown === "Lines" && (
        <ChartFigure what={what} shown={MOST_LINES} of={rows.value.length}>
          <LineChart
            rows={rows.value}
            times={groups.times}
            formats={formats}
            nameOf={nameOf}
            classOf={classOf}
            at={at.value}
            label={label}
          />
        </ChartFigure>
      )}
      {shown === "Bars" && rows.value.length > 1 && (
        <ChartFigure what={what} shown={MOST_BARS} of={rows.value.length}>
          <BarChart
            rows={rows.value}
            column={column}
            nameOf={axisNameOf}
            classOf={classOf}
            at={at.value}
            label={label}
          />
        </ChartFigure>
      )}
      <GroupTable
        groups={groups}
        rows={rows.value}
        column={column}
        order={order.value ?? found.order}
        onOrder={(next) => app.location.note({ sort: writeOrder(next) })}
        at={at}
        formats={formats}
        nameOfKey={nameOfKey}
        classOf={classOf}
        openEvents={openEvents}
      />
      {state}
    </>
  );
}

/** A chart with a caption that names its measure and how many of the groups are shown. */
function ChartFigure(properties: {
  readonly what: string;
  readonly shown: number;
  readonly of: number;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { what, shown, of, children } = properties;
  return (
    <figure class="chart">
      <figcaption class="note">
        {what}
        {of > shown && `, ${formatNumber(shown)} of ${formatNumber(of)} groups`}
      </figcaption>
      {children}
    </figure>
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

/** Formats the time of a group as the rest of the page does. */
function timeText({ step }: GroupKey & { kind: "time" }, value: string, zone: string, formats: Formats): string {
  const moments = momentsOfKey(value, step, zone);
  if (moments === null) return value;
  const isOfDays = ["days", "weeks", "months"].includes(step.unit);
  return isOfDays ? formats.day(moments.from) : formats.short(moments.from);
}
