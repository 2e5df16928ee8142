import { geoAzimuthalEqualArea, geoBounds, geoCircle, geoEqualEarth } from "d3-geo";
import type { GeoProjection } from "d3-geo";

import { placeOfKey } from "../../../query/places.ts";
import type { GroupRow } from "../../parts/groups/model.ts";

/** A group on the map, in degrees. */
export type MapPlace = {
  readonly lat: number;
  readonly lon: number;
  readonly value: number;
  /** Index of its row in the table. */
  readonly row: number;
};

/** Most places drawn as circles; more are slow and indistinguishable, so the rest are dots. */
export const MOST_CIRCLES = 1000;

/** Returns the places of groups, largest value first. Groups without coordinates are omitted. */
export function placesOfRows(rows: readonly GroupRow[], column: string): readonly MapPlace[] {
  return rows
    .flatMap(({ keys, values }, row) => {
      const degrees = placeOfKey(keys[0] ?? "");
      return degrees === null ? [] : [{ ...degrees, value: Number(values[column]), row }];
    })
    .toSorted((one, other) => other.value - one.value);
}

export type MapSize = { readonly width: number; readonly height: number };

/** Places further apart than this, in degrees, are shown on a world map. */
const WIDEST = { lat: 90, lon: 140 };
/** Least radius of the map in degrees, so that a single place has a recognizable coast around. */
const LEAST_RADIUS = 4;

/**
 * Returns an equal-area projection of the places: around their middle, also across 180°, or of the
 * whole world if they are far apart.
 */
export function mapProjection(places: readonly MapPlace[], { width, height }: MapSize): GeoProjection {
  const points = { type: "MultiPoint" as const, coordinates: places.map(({ lat, lon }) => [lon, lat]) };
  const [[west, south], [east, north]] = geoBounds(points);
  const span = (east - west + 360) % 360;
  if (places.length === 0 || span > WIDEST.lon || north - south > WIDEST.lat) {
    return geoEqualEarth().fitExtent(within(4, width, height), { type: "Sphere" });
  }
  const center: [number, number] = [west + span / 2, (south + north) / 2];
  const around = geoCircle().center(center).radius(LEAST_RADIUS)();
  return geoAzimuthalEqualArea()
    .rotate([-center[0], -center[1]])
    .fitExtent(within(mostRadius(height) + 8, width, height), {
      type: "GeometryCollection",
      geometries: [points, around],
    })
    .clipExtent(within(0, width, height));
}

function within(pad: number, width: number, height: number): [[number, number], [number, number]] {
  return [
    [pad, pad],
    [width - pad, height - pad],
  ];
}

function mostRadius(height: number): number {
  return height / 14;
}

/** Least radius of a circle, so that small ones stay visible. */
const LEAST_CIRCLE = 2.5;
/** Largest share of the map that all circles cover together. */
const COVERED = 0.12;

/** A place and its circle on the map. */
export type PlaceCircle = { readonly place: MapPlace; readonly x: number; readonly y: number; readonly radius: number };

/** Returns the largest places as circles whose areas are proportional to their values. */
export function placeCircles(
  places: readonly MapPlace[],
  projection: GeoProjection,
  size: MapSize,
): readonly PlaceCircle[] {
  const largest = places.slice(0, MOST_CIRCLES);
  const areas = largest.map(({ value }) => Math.max(0, value));
  const total = areas.reduce((sum, area) => sum + area, 0) || 1;
  const scale = Math.min(
    mostRadius(size.height) / Math.sqrt(areas[0] || 1),
    Math.sqrt((COVERED * size.width * size.height) / Math.PI / total),
  );
  return largest.map((place, index) => {
    const [x, y] = projection([place.lon, place.lat])!;
    return { place, x, y, radius: Math.max(LEAST_CIRCLE, scale * Math.sqrt(areas[index]!)) };
  });
}

/** Returns the remaining places as an SVG path with a dot for each. */
export function placeDots(places: readonly MapPlace[], projection: GeoProjection): string {
  const dots = new Set<string>();
  for (const { lat, lon } of places.slice(MOST_CIRCLES)) {
    const [x, y] = projection([lon, lat])!;
    dots.add(`M${Math.round(x)} ${Math.round(y)}h0`);
  }
  return [...dots].join("");
}

/** Distance from its edge at which a circle is still hit: small ones are hard to point at. */
const REACH = 8;

/** Returns the index of the circle at a point, the topmost (smallest) of several; -1 for none. */
export function circleAt(circles: readonly PlaceCircle[], x: number, y: number): number {
  const distance = (circle: PlaceCircle) => Math.hypot(circle.x - x, circle.y - y);
  const inside = circles.findLastIndex((circle) => distance(circle) <= circle.radius);
  if (inside !== -1) return inside;
  let nearest = -1;
  circles.forEach((circle, index) => {
    const gap = distance(circle) - circle.radius;
    if (gap > REACH) return;
    if (nearest === -1 || gap < distance(circles[nearest]!) - circles[nearest]!.radius) nearest = index;
  });
  return nearest;
}
