import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { geoPath } from "d3-geo";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { feature, mesh } from "topojson-client";
import atlas from "world-atlas/countries-110m.json" with { type: "json" };

import { countWithNoun, formatNumber } from "../../parts/text/numbers.ts";
import type { GroupRow } from "../../parts/groups/model.ts";
import { MOST_CIRCLES, circleAt, placeCircles, placeDots, placesOfRows, mapProjection } from "./places.ts";
import type { PlaceCircle, MapPlace, MapSize } from "./places.ts";
import "../../css/groups.css";

const WORLD = atlas as unknown as Parameters<typeof feature>[0];
type Countries = NonNullable<Parameters<typeof mesh>[1]>;
const LAND = feature(WORLD, WORLD.objects["land"]!);
const BORDERS = mesh(WORLD, WORLD.objects["countries"] as Countries, (one, other) => one !== other);

export type PlaceMapProperties = {
  readonly rows: readonly GroupRow[];
  readonly column: string;
  readonly nameOf: (row: GroupRow) => string;
  /** The highlighted row; -1 for none. */
  readonly at: Signal<number>;
  readonly label: string;
  readonly openEvents: (row: GroupRow) => void;
};

/** Shows groups on a map. The table below has the numbers and the groups without a place. */
export function PlaceMap({ rows, column, nameOf, at, label, openEvents }: PlaceMapProperties): JSX.Element {
  const svg = useRef<SVGSVGElement>(null);
  const size = useSize(svg);
  const hot = useSignal<number | null>(null);
  const places = useMemo(() => placesOfRows(rows, column), [rows, column]);
  const drawn = useMemo(() => (size === null ? null : draw(places, size)), [places, size]);
  const circles = drawn?.circles ?? [];
  const point = (index: number) => {
    hot.value = index === -1 ? null : index;
    at.value = circles[index]?.place.row ?? -1;
  };
  const pointed = ({ clientX, clientY }: MouseEvent): number => {
    const { left, top } = svg.current?.getBoundingClientRect() ?? { left: 0, top: 0 };
    return circleAt(circles, clientX - left, clientY - top);
  };
  const open = (index: number) => {
    const row = rows[circles[index]?.place.row ?? -1];
    if (row !== undefined) openEvents(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextIndex(event.key, hot.peek() ?? 0, circles.length);
    if (event.key === "Enter") open(hot.peek() ?? 0);
    else if (next === null) return;
    else point(next);
    event.preventDefault();
    event.stopPropagation();
  };
  const textOfPlace = ({ row, value }: MapPlace) => `${nameOf(rows[row]!)}: ${measureText(value, column)}`;
  // Memoized while the pointer moves, since there may be a thousand.
  const options = useMemo(
    () =>
      circles.map(({ place, x, y, radius }, index) => (
        <circle
          key={place.row}
          id={`place-${index}`}
          role="option"
          aria-selected={false}
          aria-label={textOfPlace(place)}
          cx={x.toFixed(1)}
          cy={y.toFixed(1)}
          r={radius.toFixed(1)}
        />
      )),
    [drawn],
  );
  const shown = hot.value === null ? undefined : circles[hot.value];
  const marked = circles.find(({ place }) => place.row === at.value);
  return (
    <>
      <svg
        ref={svg}
        class={shown === undefined ? "world" : "world pointing"}
        aria-label={label}
        viewBox={size === null ? undefined : `0 0 ${size.width} ${size.height}`}
        onPointerMove={(event) => point(pointed(event))}
        onPointerLeave={() => point(-1)}
        onClick={(event) => open(pointed(event))}
      >
        {drawn !== null && (
          <>
            <path class="land" d={drawn.land} />
            <path class="border" d={drawn.borders} />
            <path class="dots" d={drawn.dots} />
          </>
        )}
        <g
          role="listbox"
          aria-label={`${label} Arrows move, Enter opens the events`}
          aria-activedescendant={hot.value === null ? undefined : `place-${hot.value}`}
          tabIndex={0}
          onKeyDown={onKeyDown}
          onFocus={() => hot.value === null && circles.length > 0 && point(0)}
          onBlur={() => point(-1)}
        >
          {options}
        </g>
        {marked !== undefined && (
          <circle class="hot" cx={marked.x.toFixed(1)} cy={marked.y.toFixed(1)} r={(marked.radius + 1).toFixed(1)} />
        )}
      </svg>
      {shown !== undefined && size !== null && (
        <div class={shown.x > size.width / 2 ? "pop tip left" : "pop tip"} aria-hidden="true">
          {textOfPlace(shown.place)}
        </div>
      )}
      <figcaption class="note">{noteOf(places, rows, column)}</figcaption>
    </>
  );
}

/** Returns the size of an element; null before layout. */
function useSize(element: { readonly current: Element | null }): MapSize | null {
  const size = useSignal<MapSize | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver((entries) => {
      const { width, height } = entries.at(-1)!.contentRect;
      if (width > 0 && height > 0) size.value = { width, height };
    });
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return size.value;
}

type Drawing = {
  readonly land: string;
  readonly borders: string;
  readonly dots: string;
  readonly circles: readonly PlaceCircle[];
};

function draw(places: readonly MapPlace[], size: MapSize): Drawing {
  const projection = mapProjection(places, size);
  const path = geoPath(projection).digits(1);
  return {
    land: path(LAND) ?? "",
    borders: path(BORDERS) ?? "",
    dots: placeDots(places, projection),
    circles: placeCircles(places, projection, size),
  };
}

/** Returns the index after an arrow, Home or End, from the largest place to the smallest. */
function nextIndex(key: string, from: number, count: number): number | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: from - 1,
    ArrowUp: from - 1,
    ArrowRight: from + 1,
    ArrowDown: from + 1,
    Home: 0,
    End: count - 1,
  };
  const step = steps[key];
  return step === undefined || count === 0 ? null : Math.min(count - 1, Math.max(0, step));
}

function measureText(value: number, column: string): string {
  return column === "count" ? countWithNoun(value, "event") : `${column} ${formatNumber(value)}`;
}

/** Describes what the map omits. */
function noteOf(places: readonly MapPlace[], rows: readonly GroupRow[], column: string): string {
  const without = rows.find(({ keys }) => keys[0] === "");
  const events = column === "count" ? countWithNoun(Number(without?.values["count"]), "event") : "events";
  return [
    places.length > MOST_CIRCLES &&
      `Circles are the ${formatNumber(MOST_CIRCLES)} largest of ${countWithNoun(places.length, "place")}, dots are the others.`,
    without !== undefined && `Not on the map: ${events} without a place.`,
  ]
    .filter(Boolean)
    .join(" ");
}
