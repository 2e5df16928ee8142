import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX, SVGAttributes, TargetedPointerEvent } from "preact";

import { DAY_MS } from "../../../query/calendar.ts";
import type { Moments } from "../query/range.ts";
import { countWithNoun, formatNumber } from "../text/numbers.ts";
import type { Formats } from "../time/moments.ts";
import { partColor, labelled, partName, axisScale, spanText } from "./bars.ts";
import type { HistogramColumn } from "./bars.ts";
import { Tip } from "./tip.tsx";

/** Vertical positions in the drawing, in its own units. */
const TOP = 2;
const AXIS = 62.5;
const LABELS = 77;
/** Least height of a part, so that it stays visible. */
const LEAST = 1.2;

export type PlotProperties = {
  readonly label: string;
  readonly columns: readonly HistogramColumn[];
  /** Whether the columns show numbers of events. */
  readonly isCount: boolean;
  readonly formats: Formats;
  readonly nameOf: (key: string) => string;
  /** Narrows the range to some of the columns; null if they can't be selected. */
  readonly narrow: ((moments: Moments) => void) | null;
};

/** Columns from one to another, both inclusive. */
type Stretch = { readonly from: number; readonly to: number };

/** What is selected, and what reacts to the pointer and to keys. */
type Selecting = {
  /** Index of the column under the pointer or the keyboard's cursor. */
  readonly hot: Signal<number | null>;
  readonly stretch: Signal<Stretch | null>;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  readonly onPointer: Pick<
    SVGAttributes<SVGSVGElement>,
    "onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel" | "onPointerLeave"
  >;
};

/**
 * Draws the bars. Pressing and dragging select some of them, as do arrows with Shift; Enter narrows
 * the range to them and Escape clears the selection.
 */
export function HistogramPlot(properties: PlotProperties): JSX.Element {
  const { label, columns, formats, nameOf, narrow } = properties;
  const { hot, stretch, onKeyDown, onPointer } = useSelecting(properties);
  const { low, high } = axisScale(columns);
  const selected = stretch.value;
  const shown = hot.value === null ? undefined : columns[hot.value];
  return (
    <>
      <svg class="plot" aria-label={label} {...onPointer}>
        <line class="base" x1="0" x2="100%" y1={AXIS} y2={AXIS} />
        <g
          role="listbox"
          aria-label={`${label}. Arrows move${narrow === null ? "" : ", Shift with arrows selects, Enter narrows the range"}`}
          aria-multiselectable={narrow !== null}
          aria-activedescendant={hot.value === null ? undefined : `bar-${hot.value}`}
          tabIndex={0}
          onKeyDown={onKeyDown}
          onFocus={({ relatedTarget }) => (hot.value ??= columnOf(momentBefore(relatedTarget), columns))}
          onBlur={() => {
            hot.value = null;
            stretch.value = null;
          }}
        >
          {columns.map((column, index) => (
            <ColumnBars
              key={column.key}
              id={`bar-${index}`}
              column={column}
              label={labelOf(column, properties)}
              isSelected={selected !== null && isWithin(index, selected)}
              x={(index / columns.length) * 100}
              width={(100 / columns.length) * 0.84}
              low={low}
              high={high}
            />
          ))}
        </g>
        {selected !== null && <Mark class="brush" stretch={selected} count={columns.length} />}
        {hot.value !== null && <Mark class="hot" stretch={{ from: hot.value, to: hot.value }} count={columns.length} />}
        <AxisLabels columns={columns} formats={formats} low={low} high={high} />
      </svg>
      {shown !== undefined && (
        <Tip
          column={shown}
          isCount={properties.isCount}
          formats={formats}
          nameOf={nameOf}
          isLate={(hot.value ?? 0) >= columns.length / 2}
        />
      )}
    </>
  );
}

function useSelecting({ columns, narrow }: PlotProperties): Selecting {
  const hot = useSignal<number | null>(null);
  const stretch = useSignal<Stretch | null>(null);
  const pressed = useSignal<number | null>(null);
  const choose = ({ from, to }: Stretch) => {
    const first = columns[Math.min(from, to)];
    const last = columns[Math.max(from, to)];
    stretch.value = null;
    hot.value = null;
    if (first !== undefined && last !== undefined) narrow?.({ from: first.from, to: last.to });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const start = hot.peek() ?? columns.length - 1;
    const at = stretch.peek() ?? { from: start, to: start };
    const next = nextStretch(event, at, columns.length);
    if (event.key === "Enter" && narrow !== null) choose(at);
    else if (event.key === "Escape" && stretch.peek() !== null) stretch.value = null;
    else if (next === null) return;
    else {
      if (narrow !== null) stretch.value = next;
      hot.value = next.to;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const onPointer: Selecting["onPointer"] = {
    onPointerDown(event) {
      if (event.button !== 0 || narrow === null) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      const index = indexAt(event, columns.length);
      pressed.value = index;
      stretch.value = { from: index, to: index };
    },
    onPointerMove(event) {
      hot.value = indexAt(event, columns.length);
      if (pressed.value !== null) stretch.value = { from: pressed.value, to: hot.value };
    },
    onPointerUp() {
      const chosen = pressed.value === null ? null : stretch.value;
      pressed.value = null;
      if (chosen !== null) choose(chosen);
    },
    onPointerCancel() {
      pressed.value = null;
      stretch.value = null;
    },
    onPointerLeave() {
      if (pressed.value === null) hot.value = null;
    },
  };
  return { hot, stretch, onKeyDown, onPointer };
}

/** Returns the index of the column under the pointer. */
function indexAt({ clientX, currentTarget }: TargetedPointerEvent<SVGSVGElement>, count: number): number {
  const { left, width } = currentTarget.getBoundingClientRect();
  const part = (clientX - left) / Math.max(1, width);
  return Math.min(count - 1, Math.max(0, Math.floor(part * count)));
}

/** Returns the time of the event losing the focus, else of the open one; null without either. */
function momentBefore(left: EventTarget | null): number | null {
  const row = left instanceof Element ? left.closest(".slot") : null;
  const time = (row ?? document.querySelector("#list .slot:has(> .open)"))?.querySelector("time");
  return time instanceof HTMLTimeElement ? Date.parse(time.dateTime) : null;
}

/** Returns the column of a moment, or the newest one, where most questions begin. */
function columnOf(moment: number | null, columns: readonly HistogramColumn[]): number {
  const found = moment === null ? -1 : columns.findIndex(({ from, to }) => moment >= from && moment < to);
  return found < 0 ? columns.length - 1 : found;
}

function isWithin(index: number, { from, to }: Stretch): boolean {
  return index >= Math.min(from, to) && index <= Math.max(from, to);
}

/** Returns the selection after an arrow, Home or End; with Shift it grows or shrinks. */
function nextStretch(event: KeyboardEvent, { from, to }: Stretch, count: number): Stretch | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: to - 1,
    ArrowRight: to + 1,
    Home: 0,
    End: count - 1,
  };
  const step = steps[event.key];
  if (step === undefined) return null;
  const at = Math.min(count - 1, Math.max(0, step));
  return { from: event.shiftKey ? from : at, to: at };
}

function labelOf(column: HistogramColumn, { isCount, formats, nameOf }: PlotProperties): string {
  const { height, parts } = column;
  const named = parts.filter((part) => part.class !== "" || part.level !== "");
  const words = [
    isCount ? countWithNoun(height ?? 0, "event") : height === null ? "none" : formatNumber(height),
    ...named.map((part) => `${formatNumber(part.count)} ${partName(part, nameOf)}`),
  ];
  return `${spanText(column, formats)}: ${words.join(", ")}`;
}

/** Marks some of the columns over their whole height. */
function Mark(properties: { readonly class: string; readonly stretch: Stretch; readonly count: number }): JSX.Element {
  const { stretch, count } = properties;
  return (
    <rect
      class={properties.class}
      x={`${(Math.min(stretch.from, stretch.to) / count) * 100}%`}
      width={`${((Math.abs(stretch.to - stretch.from) + 1) / count) * 100}%`}
      y={0}
      height={AXIS}
    />
  );
}

function ColumnBars(properties: {
  readonly id: string;
  readonly column: HistogramColumn;
  readonly label: string;
  readonly isSelected: boolean;
  readonly x: number;
  readonly width: number;
  readonly low: number;
  readonly high: number;
}): JSX.Element {
  const { id, column, label, isSelected, x, width, low, high } = properties;
  const unit = (AXIS - TOP) / (high - low);
  const zero = AXIS - (0 - low) * unit;
  const place = { x: `${x}%`, width: `${width}%` };
  let top = zero;
  const parts = column.parts.map((part) => {
    const height = Math.max(LEAST, part.count * unit);
    top -= height;
    return (
      <rect
        class={part.class === "" && part.level === "" ? "b rest" : "b"}
        {...partColor(part)}
        {...place}
        y={top}
        height={height}
      />
    );
  });
  const figure = column.parts.length === 0 && column.height !== null ? column.height * unit : 0;
  return (
    <g id={id} role="option" aria-selected={isSelected} aria-label={label}>
      {parts}
      {figure !== 0 && (
        <rect
          class="b rest"
          {...place}
          y={figure > 0 ? zero - figure : zero}
          height={Math.max(LEAST, Math.abs(figure))}
        />
      )}
      {column.parts.length > 0 && <rect class="cap" {...place} y={top} height={1} />}
    </g>
  );
}

function AxisLabels(properties: {
  readonly columns: readonly HistogramColumn[];
  readonly formats: Formats;
  readonly low: number;
  readonly high: number;
}): JSX.Element {
  const { columns, formats, low, high } = properties;
  const [first] = columns;
  const last = columns.at(-1);
  const length_ms = first === undefined || last === undefined ? 0 : last.to - first.from;
  return (
    <g aria-hidden="true">
      {labelled(columns, formats.clock).map((index, place) => (
        <text
          class={place % 2 === 1 ? "minor" : undefined}
          x={`${(index / columns.length) * 100}%`}
          y={LABELS}
          text-anchor={index === 0 ? "start" : "middle"}
        >
          {labelOfAxis(columns[index]!.start, length_ms, formats)}
        </text>
      ))}
      <text class="yl" x="-10" y="9" text-anchor="end">
        {shortNumber(high)}
      </text>
      <text class="yl" x="-10" y="63" text-anchor="end">
        {shortNumber(low)}
      </text>
    </g>
  );
}

/** Formats an axis label: `14:00`, `24 Nov` for ranges of days, `24 Nov 2026` for years. */
function labelOfAxis(moment: number, length_ms: number, { clock, date }: Formats): string {
  if (length_ms <= 2 * DAY_MS) return clock(moment);
  return length_ms > 300 * DAY_MS ? date(moment) : date(moment).slice(0, -5);
}

function shortNumber(value: number): string {
  return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(value);
}
