import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";

import { Icon } from "../../parts/controls/icons.tsx";
import { visibleText } from "../../parts/text/visible-text.ts";
import { formatMeasure, formatNumber } from "../../parts/text/numbers.ts";
import type { Formats } from "../../parts/time/moments.ts";
import { Sparkline } from "../../parts/groups/lines.tsx";
import { changeText, columnText, peakOfSeries } from "../../parts/groups/model.ts";
import type { GroupRow, Groups } from "../../parts/groups/model.ts";
import type { GroupOrder } from "./sort-rows.ts";

/** Rows drawn initially; more are drawn on request. */
const ROWS_AT_ONCE = 200;
/** Number of characters that fit into any cell. */
const LONGEST_FIGURE = 20;

type GroupTableProperties = {
  readonly groups: Groups;
  readonly rows: readonly GroupRow[];
  /** The column that the chart draws. */
  readonly column: string;
  /** null for the service's order. */
  readonly order: GroupOrder | null;
  readonly onOrder: (order: GroupOrder) => void;
  readonly at: Signal<number>;
  readonly formats: Formats;
  readonly nameOfKey: (index: number, value: string) => string;
  readonly classOf: (row: GroupRow) => string | undefined;
  readonly openEvents: (row: GroupRow) => void;
};

/** Which optional columns a table has. */
type OptionalColumns = {
  /** The values over time. */
  readonly hasCourse: boolean;
  /** The values of an earlier time. */
  readonly hasPrevious: boolean;
};

/** Table of the groups with their values. Each row leads to its events. */
export function GroupTable(properties: GroupTableProperties): JSX.Element {
  const { groups, rows, column, order, onOrder, at } = properties;
  const most = useSignal(ROWS_AT_ONCE);
  const high = Math.max(0, ...rows.map(({ values }) => Number(values[column]) || 0)) || 1;
  const hasCourse = groups.times.length > 1 && groups.keys.every(({ kind }) => kind !== "time");
  const hasPrevious = rows.some(({ previous }) => previous !== null);
  return (
    <div class="groups" id="list" tabIndex={0} role="region" aria-label="Groups">
      <table class="table">
        <Heads
          groups={groups}
          column={column}
          order={order}
          onOrder={onOrder}
          hasCourse={hasCourse}
          hasPrevious={hasPrevious}
        />
        <tbody>
          {rows.slice(0, most.value).map((row, index) => (
            <tr
              key={row.keys.join("\n")}
              class={index === at.value ? "at" : undefined}
              onPointerEnter={() => (at.value = index)}
              onFocusIn={() => (at.value = index)}
            >
              <Cells {...properties} row={row} high={high} hasCourse={hasCourse} hasPrevious={hasPrevious} />
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="ending">No events match, so there are no groups.</p>}
      {rows.length > most.value && (
        <p class="ending">
          <button class="btn small" type="button" onClick={() => (most.value += ROWS_AT_ONCE)}>
            Show more of {formatNumber(rows.length)} groups
          </button>
        </p>
      )}
    </div>
  );
}

/** The first row of the table; a click on a name sorts by its column. */
function Heads(
  properties: Pick<GroupTableProperties, "groups" | "column" | "order" | "onOrder"> & OptionalColumns,
): JSX.Element {
  const { groups, column, order, onOrder, hasCourse, hasPrevious } = properties;
  return (
    <thead>
      <tr>
        {groups.keys.map(({ name }, index) => (
          <Head label={visibleText(name)} order={order} onOrder={onOrder} column={null} at={index} />
        ))}
        {groups.columns.map((name) => (
          <Head label={visibleText(columnText(name, hasCourse))} order={order} onOrder={onOrder} column={name} at={0} />
        ))}
        <th scope="col" class="w-bar">
          <span class="sr">{visibleText(columnText(column, hasCourse))} as a bar</span>
        </th>
        {hasPrevious && (
          <>
            <th scope="col" class="num w-num">
              Before
            </th>
            <th scope="col" class="num w-num">
              Change
            </th>
          </>
        )}
        {hasCourse && (
          <>
            <th scope="col" class="num w-peak">
              Most
            </th>
            <th scope="col" class="w-spark">
              Over time
            </th>
          </>
        )}
        <th scope="col">
          <span class="sr">Actions</span>
        </th>
      </tr>
    </thead>
  );
}

function Head(properties: {
  readonly label: string;
  readonly order: GroupOrder | null;
  readonly onOrder: (order: GroupOrder) => void;
  readonly column: string | null;
  readonly at: number;
}): JSX.Element {
  const { label, order, onOrder, column, at } = properties;
  const isSorted = order !== null && order.column === column && (column !== null || order.key === at);
  const isDescending = isSorted && order.isDescending;
  return (
    <th
      scope="col"
      class={column === null ? "w-name" : "num w-num"}
      aria-sort={isSorted ? (isDescending ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        onClick={() => onOrder({ column, key: at, isDescending: isSorted ? !isDescending : column !== null })}
      >
        {label} {isSorted && <Icon name={isDescending ? "sortDown" : "sortUp"} />}
      </button>
    </th>
  );
}

/** The cells of a group. */
function Cells(
  properties: Pick<GroupTableProperties, "groups" | "column" | "formats" | "nameOfKey" | "classOf" | "openEvents"> &
    OptionalColumns & {
      readonly row: GroupRow;
      /** The largest value of the column that bars show. */
      readonly high: number;
    },
): JSX.Element {
  const { groups, row, column, high, formats, hasCourse, hasPrevious, nameOfKey, classOf, openEvents } = properties;
  return (
    <>
      {groups.keys.map((_, place) => {
        const name = nameOfKey(place, row.keys[place] ?? "");
        return (
          <th scope="row" class="rowname" data-class={classOf(row)} title={name}>
            <bdi>{name}</bdi>
          </th>
        );
      })}
      {groups.columns.map((name) => (
        <Figure text={row.values[name] ?? ""} />
      ))}
      <td class="w-bar">
        <svg class="cell-bar" aria-hidden="true">
          <rect
            width={`${(Math.max(0, (Number(row.values[column]) || 0) / high) * 100).toFixed(1)}%`}
            height="6"
            rx="1"
          />
        </svg>
      </td>
      {hasPrevious && <Before row={row} column={column} />}
      {hasCourse && <Course row={row} groups={groups} formats={formats} />}
      <td class="act">
        {groups.keys.length > 0 && (
          <button class="quiet" type="button" onClick={() => openEvents(row)}>
            Events <Icon name="right" />
          </button>
        )}
      </td>
    </>
  );
}

function Before({ row, column }: { row: GroupRow; column: string }): JSX.Element {
  const before = row.previous?.[column] ?? "0";
  return (
    <>
      <Figure text={before} isNote />
      <td class="num">{changeText(Number(row.values[column]), Number(before))}</td>
    </>
  );
}

function Course({ row, groups, formats }: { row: GroupRow; groups: Groups; formats: Formats }): JSX.Element {
  const peak = peakOfSeries(row.series);
  return (
    <>
      <td class="num note w-peak">
        {peak === null ? "" : `${formatMeasure(peak.value)} at ${formats.short(peak.moments.from)}`}
      </td>
      <td class="w-spark">
        <Sparkline row={row} times={groups.times} />
      </td>
    </>
  );
}

/** Formats a number with thousands separators; other text stays as it is. */
function figureText(text: string): string {
  const number = Number(text);
  return text === "" || Number.isNaN(number) ? visibleText(text) : formatMeasure(number);
}

/** A cell of a value. Its title has the full value if the cell shows less. */
function Figure({ text, isNote = false }: { readonly text: string; readonly isNote?: boolean }): JSX.Element {
  const words = figureText(text);
  const isWhole = words.replaceAll(",", "") === text && text.length < LONGEST_FIGURE;
  return (
    <td class={isNote ? "num note" : "num"} title={isWhole ? undefined : visibleText(text) || undefined}>
      {words}
    </td>
  );
}
