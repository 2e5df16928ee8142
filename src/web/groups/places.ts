import { geoAzimuthalEqualArea, geoBounds, geoCircle, geoEqualEarth } from "d3-geo";
import type { GeoProjection } from "d3-geo";

import { placeOfKey } from "../../query/places.ts";
import type { GroupRow } from "./model.ts";

/** A group on the map, in degrees. */
export type Place = {
  readonly lat: number;
  readonly lon: number;
  readonly value: number;
  /** The index of its row in the table. */
  readonly row: number;
};

/** More circles take too long to draw and cannot be told apart: the places behind them are dots. */
export const MOST_CIRCLES = 1000;

/** The places of groups, the largest first. Groups without degrees are none. */
export function placesOf(rows: readonly GroupRow[], column: string): readonly Place[] {
  return rows
    .flatMap(({ keys, values }, row) => {
      const degrees = placeOfKey(keys[0] ?? "");
      return degrees === null ? [] : [{ ...degrees, value: Number(values[column]), row }];
    })
    .toSorted((one, other) => other.value - one.value);
}

export type Size = { readonly width: number; readonly height: number };

/** Places that lie further apart than this are shown on a map of the whole world. */
const WIDEST = { lat: 90, lon: 140 };
/** What is shown around a place that is alone: less has no coast that would tell where it is. */
const LEAST_RADIUS = 4;

/**
 * The part of the world that holds the places: around their middle, also where they lie on both sides
 * of 180°, or all of it where they are spread. Areas are true in both.
 */
export function projectionOf(places: readonly Place[], { width, height }: Size): GeoProjection {
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

/** Small circles can still be seen. */
const LEAST_CIRCLE = 2.5;
/** The part of the map that all circles cover together, at most. */
const COVERED = 0.12;

/** A place where it is drawn. */
export type Circle = { readonly place: Place; readonly x: number; readonly y: number; readonly radius: number };

/** The largest places as circles, whose areas go by their values. */
export function circlesOf(places: readonly Place[], projection: GeoProjection, size: Size): readonly Circle[] {
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

/** The places behind the largest, as a path that has a dot wherever there is one. */
export function dotsOf(places: readonly Place[], projection: GeoProjection): string {
  const dots = new Set<string>();
  for (const { lat, lon } of places.slice(MOST_CIRCLES)) {
    const [x, y] = projection([lon, lat])!;
    dots.add(`M${Math.round(x)} ${Math.round(y)}h0`);
  }
  return [...dots].join("");
}

/** A circle is hit this far from its edge, too: small ones are hard to point at. */
const REACH = 8;

/** The index of the circle that is pointed at: of several the one on top, which is the smallest; -1: none. */
export function circleAt(circles: readonly Circle[], x: number, y: number): number {
  const distance = (circle: Circle) => Math.hypot(circle.x - x, circle.y - y);
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
