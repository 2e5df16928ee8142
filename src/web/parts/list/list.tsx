import { effect, useComputed, useSignal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import { render } from "preact";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { Icon } from "../controls/icons.tsx";
import { leastListWidth, columnTitle, gridTracks, writeColumns } from "../rows/columns.ts";
import type { ListColumn } from "../rows/columns.ts";
import type { ColumnsProperties } from "./column-chooser.tsx";
import { ColumnsButton } from "./columns-button.tsx";
import { ListControl } from "./control.ts";
import type { HoldReason, MenuPlace } from "./control.ts";
import { ColumnGrip } from "./column-grip.tsx";
import type { FollowedEnd, ListMemory } from "./list-view.ts";
import type { TimeOrder } from "../rows/question.ts";
import type { RowAppearance } from "./row-view.ts";
import type { RowSource } from "../rows/row-source.ts";
import { visibleText } from "../text/visible-text.ts";

export type ListProperties = {
  readonly source: RowSource;
  readonly appearance: RowAppearance;
  readonly order: TimeOrder;
  /** null if the order can't be changed. */
  readonly onOrder: (() => void) | null;
  readonly onColumns: (columns: readonly ListColumn[]) => void;
  readonly readFields: ColumnsProperties["readFields"];
  /** Formats the day of a moment for the head. */
  readonly day: (ms: number) => string;
  /** Accessible name of the list. */
  readonly label: string;
  /** Number of events of the whole result; null if unknown. */
  readonly total: number | null;
  readonly opened: Signal<ReadonlySet<string>>;
  readonly openEvent: (id: string) => JSX.Element;
  /** Notes shown below rows that are followed by skipped events. */
  readonly gaps?: ReadonlySignal<ReadonlyMap<string, () => JSX.Element>>;
  readonly follow?: ReadonlySignal<FollowedEnd>;
  readonly onHold?: (reason: HoldReason) => void;
  readonly onRelease?: () => void;
  readonly onPartEnd?: () => void;
  readonly onMenu: (place: MenuPlace) => void;
  /** Initial scroll position. */
  readonly start?: ListMemory | null;
  /** Called with the list's controller, and with null when the list is removed. */
  readonly onControl?: (control: ListControl | null) => void;
  /** Content of the last row. */
  readonly end: JSX.Element;
};

/** Shows events, one per line. Only those on the screen are elements. */
export function List(properties: ListProperties): JSX.Element {
  const { source, appearance, label, total, end, gaps, follow } = properties;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const first = useSignal(0);
  const control = useControl(properties, { scroller, canvas, first });
  useTracks(scroller, appearance.columns);
  useEffect(() => control.current?.use(source, appearance, properties.start ?? null), [source, appearance]);
  useEffect(
    () =>
      effect(() => {
        void source.version.value;
        void source.length.value;
        void gaps?.value;
        control.current?.view.changed();
      }),
    [source, gaps],
  );
  useEffect(() => effect(() => control.current?.view.follow(follow?.value ?? null)), [follow]);
  return (
    <div
      ref={scroller}
      class="list"
      id="list"
      role="treegrid"
      aria-label={label}
      aria-rowcount={total === null ? -1 : total + 1}
    >
      <Head {...properties} first={first} />
      <div ref={canvas} class="canvas" role="rowgroup" />
      <div class="ending" role="row">
        <div role="gridcell">{end}</div>
      </div>
    </div>
  );
}

type Parts = {
  readonly scroller: { readonly current: HTMLDivElement | null };
  readonly canvas: { readonly current: HTMLDivElement | null };
  /** Moment of the first visible row. */
  readonly first: Signal<number>;
};

/** Creates the list's controller once its elements exist, and destroys it with them. */
function useControl(properties: ListProperties, { scroller, canvas, first }: Parts): { current: ListControl | null } {
  const control = useRef<ListControl | null>(null);
  const latest = useRef(properties);
  latest.current = properties;
  useLayoutEffect(() => {
    const made = new ListControl({
      scroller: scroller.current!,
      canvas: canvas.current!,
      source: properties.source,
      appearance: properties.appearance,
      opened: properties.opened,
      gaps: () => new Set(latest.current.gaps?.peek().keys()),
      onHold: (reason) => latest.current.onHold?.(reason),
      onRelease: () => latest.current.onRelease?.(),
      onPartEnd: () => latest.current.onPartEnd?.(),
      onMenu: (place) => latest.current.onMenu(place),
      onSeen: ({ from }) => {
        const created = latest.current.source.at(from)?.created;
        if (created !== undefined) first.value = created;
      },
      mount: (kind, id, element) => {
        const content = kind === "event" ? latest.current.openEvent(id) : latest.current.gaps?.peek().get(id)?.();
        render(<div role="gridcell">{content}</div>, element);
        return () => render(null, element);
      },
    });
    control.current = made;
    if (properties.start) made.view.restore(properties.start);
    properties.onControl?.(made);
    return () => {
      latest.current.onControl?.(null);
      made.destroy();
    };
  }, []);
  return control;
}

/** Sets the grid tracks if they differ from those of the style sheet. */
function useTracks(scroller: Parts["scroller"], columns: readonly ListColumn[]): void {
  useLayoutEffect(() => {
    const style = scroller.current!.style;
    if (writeColumns(columns) === "") {
      style.removeProperty("--tracks");
      style.removeProperty("--least");
    } else {
      style.setProperty("--tracks", gridTracks(columns));
      style.setProperty("--least", `${leastListWidth(columns)}px`);
    }
  }, [columns]);
}

function Head(properties: ListProperties & { readonly first: Signal<number> }): JSX.Element {
  const { order, onOrder, appearance, day, first, onColumns, readFields } = properties;
  const date = useComputed(() => (first.value === 0 ? "Time" : day(first.value)));
  const words = order === "desc" ? "newest first" : "oldest first";
  const arrow = <Icon name={order === "desc" ? "sortDown" : "sortUp"} />;
  return (
    <div class="row head" role="row" aria-rowindex={1}>
      <span role="columnheader" aria-sort={order === "desc" ? "descending" : "ascending"}>
        {onOrder === null ? (
          date
        ) : (
          <button type="button" aria-label={`${date.value}, ${words}`} onClick={onOrder}>
            {date} {arrow}
          </button>
        )}
      </span>
      {appearance.columns.map(({ name }, index) => (
        <span key={name} role="columnheader" class={index === appearance.columns.length - 1 ? "cols" : undefined}>
          {visibleText(columnTitle(name))}
          <ColumnGrip name={name} columns={appearance.columns} onColumns={onColumns} />
          {index === appearance.columns.length - 1 && (
            <ColumnsButton columns={appearance.columns} readFields={readFields} onColumns={onColumns} />
          )}
        </span>
      ))}
    </div>
  );
}
