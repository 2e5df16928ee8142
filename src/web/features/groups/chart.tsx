import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";

import type { App } from "../../state/app.ts";
import { lazy } from "../../parts/controls/lazy.tsx";
import { LineChart, MOST_LINES } from "../../parts/groups/lines.tsx";
import { columnText } from "../../parts/groups/model.ts";
import type { GroupKey, GroupRow, Groups } from "../../parts/groups/model.ts";
import { formatNumber } from "../../parts/text/numbers.ts";
import { visibleText } from "../../parts/text/visible-text.ts";
import type { Formats } from "../../parts/time/moments.ts";
import { BarChart, MOST_BARS } from "./bars.tsx";
import { namesOfKeys } from "./group-names.ts";
import type { GroupNames } from "./group-names.ts";
import type { PlaceMapProperties } from "./place-map.tsx";

const PlaceMap = lazy<PlaceMapProperties>(async () => (await import("./place-map.tsx")).PlaceMap);

type ChartName = "Map" | "Lines" | "Bars" | "None";

export type ChartChoice = {
  readonly charts: readonly ChartName[];
  /** Those of them that can show these groups. */
  readonly usable: readonly ChartName[];
  readonly shown: ChartName;
  /** Whether each group has values over time. */
  readonly hasCourse: boolean;
};

/** @param chosen name of a chart, in lower case */
export function chartChoice(groups: Groups, keys: readonly GroupKey[], chosen: string | undefined): ChartChoice {
  const hasCourse = groups.times.length > 1 && keys.length > 1;
  const isOfPlaces = groups.keys.length === 1 && groups.keys[0]?.kind === "place";
  const isOfTimes = keys.some(({ kind }) => kind === "time");
  const charts: readonly ChartName[] = [
    ...(isOfPlaces ? ["Map" as const] : []),
    ...(isOfTimes ? ["Lines" as const] : []),
    "Bars",
    "None",
  ];
  const usable = charts.filter((name) => name !== "Lines" || hasCourse);
  const shown =
    usable.find((name) => name.toLowerCase() === chosen) ?? (isOfPlaces ? "Map" : hasCourse ? "Lines" : "Bars");
  return { charts, usable, shown, hasCourse };
}

export function ChartButtons({ app, choice }: { readonly app: App; readonly choice: ChartChoice }): JSX.Element {
  return (
    <div class="seg hide-small" role="group" aria-label="Chart">
      {choice.charts.map((name) => (
        <button
          type="button"
          aria-pressed={name === choice.shown}
          disabled={!choice.usable.includes(name)}
          onClick={() => app.location.note({ chart: name.toLowerCase() })}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

/** The chosen chart of the groups. */
export function Chart(properties: {
  readonly choice: ChartChoice;
  readonly groups: Groups;
  readonly rows: readonly GroupRow[];
  readonly column: string;
  readonly formats: Formats;
  readonly names: GroupNames;
  readonly at: Signal<number>;
  readonly openEvents: (row: GroupRow) => void;
}): JSX.Element | null {
  const { choice, groups, rows, column, formats, names, at, openEvents } = properties;
  const { shown, hasCourse } = choice;
  const { nameOf, axisNameOf, classOf } = names;
  const by = namesOfKeys(groups.keys);
  const label = `${visibleText(column)} by ${by}. The table below holds the numbers.`;
  // A line shows all values of its column, a bar the one of its row.
  const what = `${visibleText(columnText(column, hasCourse && shown !== "Lines"))} by ${by}`;
  if (shown === "Map") {
    return (
      <figure class="chart map">
        <PlaceMap rows={rows} column={column} nameOf={nameOf} at={at} label={label} openEvents={openEvents} />
      </figure>
    );
  }
  if (shown === "Lines") {
    return (
      <ChartFigure what={what} shown={MOST_LINES} of={rows.length}>
        <LineChart
          rows={rows}
          times={groups.times}
          formats={formats}
          nameOf={nameOf}
          classOf={classOf}
          at={at.value}
          label={label}
        />
      </ChartFigure>
    );
  }
  if (shown === "None" || rows.length <= 1) return null;
  return (
    <ChartFigure what={what} shown={MOST_BARS} of={rows.length}>
      <BarChart rows={rows} column={column} nameOf={axisNameOf} classOf={classOf} at={at.value} label={label} />
    </ChartFigure>
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
