import type { Geo } from "../../src/events/event.ts";
import { KEYWORD_FIELDS } from "../../src/events/keywords.ts";
import { textPattern } from "../../src/events/pattern.ts";
import { wellFormed } from "../../src/events/text.ts";
import type { MutableEvent, Transform } from "../stage.ts";

/** Returns the location of an IP address, or null if it is unknown. A GeoIP database. */
export type Locate = (ip: string) => { readonly lat: number; readonly lon: number } | null;

/**
 * Sets an event's pattern, replaces ill-formed UTF-16 in its texts, which no engine can store, and
 * resolves its address to coordinates if `locate` can.
 */
export function createEnrich({ locate }: { readonly locate: Locate | null }): Transform {
  return { name: "enrich", change: (event) => enrich(event, locate) };
}

function enrich(event: MutableEvent, locate: Locate | null): void {
  event.text = wellFormed(event.text);
  for (const name of KEYWORD_FIELDS) if (!event[name].isWellFormed()) event[name] = wellFormed(event[name]);
  if (!event.tags.every((tag) => tag.isWellFormed())) event.tags = event.tags.map(wellFormed);
  if (event.data !== null) event.data = wellFormed(event.data);
  event.geo = place(event.geo, locate);
  event.pattern = textPattern(event.text);
}

function place(geo: Geo | null, locate: Locate | null): Geo | null {
  if (geo === null || !("ip" in geo)) return geo;
  const ip = wellFormed(geo.ip);
  return locate?.(ip) ?? { ip };
}
