import type { Geo, StoredEvent } from "../../src/events/event.ts";
import { hashText, wellFormed } from "../../src/events/text.ts";
import { transform } from "../stage.ts";
import type { Stage } from "../stage.ts";

/** Where an IP address is, or null where nobody knows: a GeoIP database. */
export type Locate = (ip: string) => { readonly lat: number; readonly lon: number } | null;

/** Gives an event its hash, makes its texts such that every engine can hold them, and places its address on the map where `locate` can. */
export function createEnrich({ locate }: { readonly locate: Locate | null }): Stage {
  return transform("enrich", (event) => enrich(event, locate));
}

function enrich(event: StoredEvent, locate: Locate | null): StoredEvent {
  const text = wellFormed(event.text);
  return {
    ...event,
    text,
    link: wellFormed(event.link),
    source: wellFormed(event.source),
    user: wellFormed(event.user),
    tags: event.tags.every((tag) => tag.isWellFormed()) ? event.tags : event.tags.map(wellFormed),
    data: event.data === null ? null : wellFormed(event.data),
    geo: place(event.geo, locate),
    hash: hashText(text),
  };
}

function place(geo: Geo | null, locate: Locate | null): Geo | null {
  if (geo === null || !("ip" in geo)) return geo;
  const ip = wellFormed(geo.ip);
  return locate?.(ip) ?? { ip };
}
