import { EARTH_RADIUS_KM } from "../../../query/plan.ts";
import type { Condition } from "../../../query/plan.ts";
import type { EventRow } from "../../../events/event.ts";
import { and, or } from "../client/queries.ts";
import type { Query } from "../client/queries.ts";

type Within = Extract<Condition, { kind: "geo-within" }>;
type Near = Extract<Condition, { kind: "geo-near" }>;

/** Compares the posted degrees, since those of a `geo_point` are rounded. */
export function compileWithin({ south, west, north, east }: Within): Query {
  const lat: Query = { range: { "geo.lat": { gte: south, lte: north } } };
  const lon: Query =
    west <= east
      ? { range: { "geo.lon": { gte: west, lte: east } } }
      : or([{ range: { "geo.lon": { gte: west } } }, { range: { "geo.lon": { lte: east } } }]);
  return and([lat, lon]);
}

/** Error of Elasticsearch's distances: its points are rounded, its sphere is slightly larger. */
const SLACK = 1e-6;
const SLACK_KM = 0.002;

/** Finds events in a circle. `doubt` finds those near the edge, which must be tested. */
export function compileNear({ lat, lon, km }: Near): { readonly query: Query; readonly doubt: Query } {
  const inner_km = km * (1 - SLACK) - SLACK_KM;
  const outer = atMost(lat, lon, km * (1 + SLACK) + SLACK_KM);
  if (inner_km <= 0) return { query: outer, doubt: outer };
  const inner = atMost(lat, lon, inner_km);
  return { query: inner, doubt: { bool: { filter: [outer], must_not: [inner] } } };
}

function atMost(lat: number, lon: number, km: number): Query {
  return { geo_distance: { distance: `${km}km`, place: { lat, lon } } };
}

/** Tests a single event. */
export function liesWithin({ geo }: EventRow, { south, west, north, east }: Within): boolean {
  if (geo === null || "ip" in geo) return false;
  const { lat, lon } = geo;
  const isBetween = west <= east ? west <= lon && lon <= east : west <= lon || lon <= east;
  return south <= lat && lat <= north && isBetween;
}

export function liesNear({ geo }: EventRow, { lat, lon, km }: Near): boolean {
  return geo !== null && !("ip" in geo) && distance_km(geo, { lat, lon }) <= km;
}

type Place = { readonly lat: number; readonly lon: number };

/** Returns the distance on a sphere, by the haversine formula. */
function distance_km(a: Place, b: Place): number {
  const [lat1, lat2] = [radians(a.lat), radians(b.lat)];
  const h =
    Math.sin((lat2 - lat1) / 2) ** 2 + Math.cos(lat1) * Math.cos(lat2) * Math.sin(radians(b.lon - a.lon) / 2) ** 2;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
