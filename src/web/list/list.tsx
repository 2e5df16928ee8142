import { effect, useComputed, useSignal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import { render } from "preact";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { Icon } from "../parts/icons.tsx";
import { leastWidthOf, titleOf, tracksOf, writeColumns } from "./columns.ts";
import type { ListColumn } from "./columns.ts";
import type { ColumnsProperties } from "./column-chooser.tsx";
import { ColumnsButton } from "./columns-button.tsx";
import { ListControl } from "./control.ts";
import type { Hold, MenuPlace } from "./control.ts";
import { ColumnGrip } from "./column-grip.tsx";
import type { Follow, ListMemory } from "./list-view.ts";
import type { Order } from "./question.ts";
import type { RowLook } from "./row-view.ts";
import type { RowSource } from "./row-source.ts";
import { visibleText } from "./visible-text.ts";

export type ListProperties = {
  readonly source: RowSource;
  readonly look: RowLook;
  readonly order: Order;
  /** null: the order cannot be changed. */
  readonly onOrder: (() => void) | null;
  readonly onColumns: (columns: readonly ListColumn[]) => void;
  readonly readFields: ColumnsProperties["readFields"];
  /** The day of a moment, as the head shows it. */
  readonly day: (ms: number) => string;
  /** What the list is of, for those who hear it. */
  readonly label: string;
  /** Events of the whole result; null where that is not known. */
  readonly total: number | null;
  readonly opened: Signal<ReadonlySet<string>>;
  readonly openEvent: (id: string) => JSX.Element;
  /** What stands under rows behind which events were left out. */
  readonly gaps?: ReadonlySignal<ReadonlyMap<string, () => JSX.Element>>;
  readonly follow?: ReadonlySignal<Follow>;
  readonly onHold?: (reason: Hold) => void;
  readonly onRelease?: () => void;
  readonly onPartEnd?: () => void;
  readonly onMenu: (place: MenuPlace) => void;
  /** Where the reader was. */
  readonly start?: ListMemory | null;
  /** Gives out what acts on the list, and null when it is gone. */
  readonly onControl?: (control: ListControl | null) => void;
  /** What the last row says. */
  readonly end: JSX.Element;
};

/** Events, one line each, of which only those on the screen are elements. */
export function List(properties: ListProperties): JSX.Element {
  const { source, look, label, total, end, gaps, follow } = properties;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const first = useSignal(0);
  const control = useControl(properties, { scroller, canvas, first });
  useTracks(scroller, look.columns);
  useEffect(() => control.current?.use(source, look, properties.start ?? null), [source, look]);
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
  /** The moment of the first row that is seen. */
  readonly first: Signal<number>;
};

/** Makes what draws the list once its elements are there, and takes it away with them. */
function useControl(properties: ListProperties, { scroller, canvas, first }: Parts): { current: ListControl | null } {
  const control = useRef<ListControl | null>(null);
  const latest = useRef(properties);
  latest.current = properties;
  useLayoutEffect(() => {
    const made = new ListControl({
      scroller: scroller.current!,
      canvas: canvas.current!,
      source: properties.source,
      look: properties.look,
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

/** The tracks of the grid, where they are other ones than the style sheet has. */
function useTracks(scroller: Parts["scroller"], columns: readonly ListColumn[]): void {
  useLayoutEffect(() => {
    const style = scroller.current!.style;
    if (writeColumns(columns) === "") {
      style.removeProperty("--tracks");
      style.removeProperty("--least");
    } else {
      style.setProperty("--tracks", tracksOf(columns));
      style.setProperty("--least", `${leastWidthOf(columns)}px`);
    }
  }, [columns]);
}

function Head(properties: ListProperties & { readonly first: Signal<number> }): JSX.Element {
  const { order, onOrder, look, day, first, onColumns, readFields } = properties;
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
      {look.columns.map(({ name }, index) => (
        <span key={name} role="columnheader" class={index === look.columns.length - 1 ? "cols" : undefined}>
          {visibleText(titleOf(name))}
          <ColumnGrip name={name} columns={look.columns} onColumns={onColumns} />
          {index === look.columns.length - 1 && (
            <ColumnsButton columns={look.columns} readFields={readFields} onColumns={onColumns} />
          )}
        </span>
      ))}
    </div>
  );
}
