import type { Geo } from "../events/event.ts";
import { queryFault } from "./fault.ts";
import type { Condition } from "./plan.ts";
import type { NumberLiteral } from "./syntax.ts";

type Edges = readonly [south: NumberLiteral, west: NumberLiteral, north: NumberLiteral, east: NumberLiteral];
type Circle = readonly [lat: NumberLiteral, lon: NumberLiteral, km: NumberLiteral];

/** @throws LoggiaError `bad_query` if the area is invalid */
export function planWithin(text: string, [south, west, north, east]: Edges): Condition<never> {
  const within = {
    south: degrees(text, south, 90),
    west: degrees(text, west, 180),
    north: degrees(text, north, 90),
    east: degrees(text, east, 180),
  };
  if (within.south <= within.north) return { kind: "geo-within", ...within };
  const hint = "Write WITHIN (south, west, north, east).";
  throw queryFault(text, south.span, "the southern edge lies north of the northern one", hint);
}

/** No two places are farther apart, on any engine's sphere. */
const FARTHEST_KM = 20_100;

/** @throws LoggiaError `bad_query` if the place or the distance is invalid */
export function planNear(text: string, [lat, lon, km]: Circle): Condition<never> {
  const center = { lat: degrees(text, lat, 90), lon: degrees(text, lon, 180) };
  if (km.value >= 0) return { kind: "geo-near", ...center, km: Math.min(km.value, FARTHEST_KM) };
  throw queryFault(text, km.span, "a distance is not negative", "Write NEAR (latitude, longitude, kilometres).");
}

/** Returns the key of a place's group, such as `40.1203,-76.2944`; "" without coordinates. */
export function keyOfPlace(geo: Geo | null): string {
  return geo === null || "ip" in geo ? "" : `${geo.lat},${geo.lon}`;
}

/** Returns the coordinates of a key of {@link keyOfPlace}; null for "". */
export function placeOfKey(key: string): { readonly lat: number; readonly lon: number } | null {
  const [lat = "", lon = ""] = key.split(",");
  return lat === "" ? null : { lat: Number(lat), lon: Number(lon) };
}

function degrees(text: string, { value, span }: NumberLiteral, most: number): number {
  if (Math.abs(value) <= most) return value;
  throw queryFault(text, span, `expected degrees from -${most} to ${most}, found ${value}`);
}
