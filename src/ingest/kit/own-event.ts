import { parseNumber } from "../../events/attributes.ts";
import type { Geo } from "../../events/event.ts";
import { FIELD_NAMES } from "../../events/field-order.ts";
import { isEventId } from "../../events/id.ts";
import { mapKeywords } from "../../events/map-keywords.ts";
import { splitTags } from "../../events/tags.ts";
import type { FieldChoice } from "./choice.ts";
import type { ProducerEvent } from "./endpoint.ts";
import { flattenInto } from "./flatten.ts";
import type { MutableAttributes } from "./flatten.ts";
import { isObject } from "./json.ts";
import { LOGGER_MEMBERS } from "./producer-names.ts";
import type { ProducerTime } from "./time-forms.ts";
import { readProducerTime } from "./times.ts";

type Members = Readonly<Record<string, unknown>>;

const OWN_FIELDS: ReadonlySet<string> = new Set(FIELD_NAMES);
/** Form of times in responses of the API. */
const JSON_DATE = /^\/Date\((-?\d{1,15})\)\/$/;

/**
 * Returns the event of an object in Loggia's own form, as it is posted and exported: it has `text`
 * and `created`, and no member by which a logger's is known. null for other objects, and where the
 * client chooses fields.
 */
export function eventOfOwn(object: Members, choice: FieldChoice): ProducerEvent | null {
  const { text, created } = object;
  if (typeof text !== "string" || text.trim() === "" || created === undefined) return null;
  if (choice.text.length + choice.time.length + choice.source.length > 0) return null;
  const { id, hash } = object;
  const isExported = typeof id === "string" && isEventId(id) && typeof hash === "string";
  if (Object.keys(object).some((name) => isOfLogger(name, object[name], isExported))) return null;
  const time = ownTime(created, choice);
  if (time === null) return null;
  const left = new Map(Object.entries(object));
  left.delete("text");
  left.delete("created");
  const take = <T>(name: string, read: (value: unknown) => T | null): T | null => {
    const value = read(left.get(name));
    if (value !== null) left.delete(name);
    return value;
  };
  const keywords = mapKeywords((name) => take(name, textOf) ?? "");
  const event = {
    ...keywords,
    text,
    data: take("data", textOf) ?? "",
    severity: null,
    value: take("value", amountOf),
    geo: take("geo", placeOf),
    tags: take("tags", tagsOf) ?? [],
    time,
  };
  const attributes: MutableAttributes = new Map();
  const given = take("attributes", (value) => (isObject(value) ? value : null));
  if (given !== null) flattenInto(attributes, given);
  // The service assigned the others.
  if (isExported) for (const name of OWN_FIELDS) left.delete(name);
  flattenInto(attributes, Object.fromEntries(left));
  return { ...event, attributes };
}

function isOfLogger(name: string, value: unknown, isExported: boolean): boolean {
  if (value === null || value === undefined || !LOGGER_MEMBERS.has(name.split(".")[0]!)) return false;
  return !(isExported && OWN_FIELDS.has(name));
}

function ownTime(created: unknown, { times }: FieldChoice): ProducerTime | null {
  const ms = typeof created === "string" ? JSON_DATE.exec(created)?.[1] : undefined;
  return ms === undefined ? readProducerTime(created, times) : { ms: Number(ms), ns: 0 };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function amountOf(value: unknown): number | null {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  return typeof value === "string" ? parseNumber(value) : null;
}

function placeOf(value: unknown): Geo | null {
  if (!isObject(value)) return null;
  const { lat, lon, ip } = value;
  if (typeof ip === "string") return { ip };
  if (typeof lat !== "number" || typeof lon !== "number") return null;
  return Math.abs(lat) <= 90 && Math.abs(lon) <= 180 ? { lat, lon } : null;
}

function tagsOf(value: unknown): readonly string[] | null {
  if (typeof value === "string") return splitTags(value);
  return Array.isArray(value) && value.every((tag) => typeof tag === "string") ? value : null;
}
