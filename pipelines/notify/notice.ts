import type { NewRecord } from "../../src/bus/bus.ts";
import type { AcceptedEvent, LogKey, StoredEvent, UserId } from "../../src/events/event.ts";
import { acceptedAt, parseEventId, type EventId } from "../../src/events/id.ts";

/**
 * A record of the `alerts` topic: an event, the users who subscribe to mail about it, and its
 * origin on the `events` topic. One JSON object in UTF-8:
 *
 *     {"v":1,"log":"shop","id":"…","created":1308491673911,"class":"failure","text":"Disk full",
 *      "source":"web-3","value":97.5,
 *      "users":["0123456789abcdef"],"origin":{"partition":0,"offset":17,"line":1}}
 *
 * It may occur twice, as events do; `origin` identifies duplicates.
 */
export type Notice = NoticeLine & {
  readonly log: LogKey;
  readonly id: EventId;
  readonly class: string;
  readonly users: readonly UserId[];
  readonly origin: Origin;
};

/** Fields of an event that a mail shows. */
export type NoticeLine = Pick<AcceptedEvent, "created" | "text" | "source" | "value">;

/** A place on the `events` topic. Places of one partition rise in the order of delivery. */
export type Origin = { readonly partition: number; readonly offset: number; readonly line: number };

const VERSION = 1;
/** Maximum lengths of texts in a notice. The full texts are in the log. */
const TEXT_MAX_CHARACTERS = 300;
const SOURCE_MAX_CHARACTERS = 100;
/** Age from which events are not mailed, so that a replay of old events sends no mail. */
const STALE_MS = 24 * 3_600_000;

/** @param event classified event */
export function encodeNotice(
  { log, id, created, text, source, value, class: classKey }: StoredEvent,
  users: readonly UserId[],
  origin: Origin,
): NewRecord {
  const notice = {
    v: VERSION,
    log,
    id,
    created,
    class: classKey,
    text: shorten(text, TEXT_MAX_CHARACTERS),
    source: shorten(source, SOURCE_MAX_CHARACTERS),
    value,
    users,
    origin,
  };
  return { key: log, value: Buffer.from(JSON.stringify(notice)) };
}

/** Decodes a record; returns null if it is malformed or of another version. */
export function decodeNotice(value: Buffer): Notice | null {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(value.toString("utf8")) as Record<string, unknown>;
  } catch {
    return null;
  }
  if (typeof fields !== "object" || fields === null || fields["v"] !== VERSION) return null;
  const { log, id, created, class: classKey, text, source, value: number, users, origin } = fields;
  if (![log, classKey, text, source, id].every((field) => typeof field === "string")) return null;
  if (parseEventId(id as string) === null || !Number.isSafeInteger(created)) return null;
  if (!(number === null || typeof number === "number")) return null;
  if (!Array.isArray(users) || !users.every((user) => typeof user === "string")) return null;
  const { partition, offset, line } = (origin ?? {}) as Record<string, unknown>;
  if (![partition, offset, line].every(Number.isSafeInteger)) return null;
  return { log, id, created, class: classKey, text, source, value: number, users, origin } as unknown as Notice;
}

export function isStale(id: EventId, now_ms: number): boolean {
  return acceptedAt(id) < now_ms - STALE_MS;
}

function shorten(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const all = [...text];
  return all.length <= characters ? text : `${all.slice(0, characters).join("")}…`;
}
