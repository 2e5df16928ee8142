import { SharedParts } from "./amplification.ts";
import type { SharedPart } from "./amplification.ts";
import type { FieldChoice } from "./choice.ts";
import { eventOfAttributes } from "./document.ts";
import { flattenInto, put } from "./flatten.ts";
import type { MutableAttributes } from "./flatten.ts";
import { isObject } from "./json.ts";
import { EventTime, plainValue } from "./msgpack.ts";
import { tagIfCut } from "./cut-tag.ts";
import type { ReadEvent, Received } from "./endpoint.ts";
import { readGivenTime } from "./times.ts";
import type { GivenTime } from "./times.ts";

/** Seconds of the entries with which Fluent Bit begins and ends a group: -1 and -2. */
const GROUP_START_MS = 0xffffffff * 1_000;
const GROUP_END_MS = 0xfffffffe * 1_000;
/** Schema of groups from OpenTelemetry, and member of the metadata of their entries. */
const OTLP = "otlp";

type Members = Readonly<Record<string, unknown>>;

/**
 * Decodes the entries of Fluentd and Fluent Bit: a time and a record, with metadata from Fluent Bit.
 * Fluent Bit also groups entries that share the attributes of an OpenTelemetry resource.
 */
export class FluentEntries {
  readonly #choice: FieldChoice;
  readonly #parts: SharedParts;
  readonly #common: SharedPart;
  /** Attributes of the current group. */
  #group: SharedPart;

  /** @param common attributes of all entries */
  constructor(
    received: Pick<Received, "choice" | "sent_bytes" | "limits">,
    common: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#choice = received.choice;
    this.#parts = new SharedParts(received);
    this.#common = this.#parts.part(common);
    this.#group = this.#parts.part(new Map());
  }

  /** Returns the event of an entry; "group" if it begins or ends one, null if it is malformed. */
  eventOf(entry: unknown): ReadEvent | "group" | null {
    if (!Array.isArray(entry) || entry.length < 2) return null;
    const [when, record] = entry as unknown[];
    if (!isObject(record)) return null;
    const [time, metadata] = Array.isArray(when) ? (when as unknown[]) : [when];
    const ms = time instanceof EventTime ? time.time.ms : 0;
    if (ms === GROUP_START_MS || ms === GROUP_END_MS) {
      const members = ms === GROUP_START_MS ? membersOfGroup(record, isObject(metadata) ? metadata : {}) : [];
      this.#group = this.#parts.part(flattened(members));
      return "group";
    }
    return this.eventOfRecord(record, isObject(metadata) ? metadata : {}, time);
  }

  /** Returns the event of a record, of which attributes take precedence over those of its metadata. */
  eventOfRecord(record: Members, metadata: Members = {}, time: unknown = null): ReadEvent {
    const [common, group] = [this.#parts.take(this.#common), this.#parts.take(this.#group)];
    const attributes: MutableAttributes = new Map(common.attributes);
    flattenInto(attributes, plainValue(record) as Members);
    const own = Object.keys(metadata).length > 0 ? flattened(membersOfMetadata(metadata)) : [];
    for (const [name, value] of own) put(attributes, name, value);
    for (const [name, value] of group.attributes) put(attributes, name, value);
    const given = readEntryTime(attributes, time);
    return tagIfCut(common.isCut || group.isCut, eventOfAttributes(attributes, this.#choice, given));
  }
}

/** Returns the attributes of several objects, of which the earlier take precedence. */
function flattened(objects: readonly Members[]): MutableAttributes {
  const attributes: MutableAttributes = new Map();
  for (const object of objects) {
    const more: MutableAttributes = new Map();
    flattenInto(more, object);
    for (const [name, value] of more) put(attributes, name, value);
  }
  return attributes;
}

/** Returns metadata in order of precedence. Fields of OpenTelemetry have the names that OTLP's have. */
function membersOfMetadata({ [OTLP]: otlp, ...others }: Members): readonly Members[] {
  if (!isObject(otlp)) return [plainValue({ ...others, ...(otlp !== undefined && { otlp }) }) as Members];
  const { attributes, observed_timestamp: observed, timestamp: _, ...fields } = otlp;
  const named = Object.entries(fields).map(([name, value]) => [name, isId(name, value) ? hexOf(value) : value]);
  const seen = typeof observed === "bigint" ? { observed_time_ns: `${observed}` } : {};
  return [{ ...Object.fromEntries(named), ...seen }, attributes, others].map(plainMembersOf);
}

function membersOfGroup(body: Members, { schema }: Members): readonly Members[] {
  if (schema !== OTLP) return [plainMembersOf(body)];
  const resource = isObject(body["resource"]) ? body["resource"] : {};
  const { attributes, name, version } = isObject(body["scope"]) ? body["scope"] : {};
  const scope = { "otel.scope.name": name, "otel.scope.version": version };
  return [attributes, scope, resource["attributes"]].map(plainMembersOf);
}

function plainMembersOf(members: unknown): Members {
  return isObject(members) ? (plainValue(members) as Members) : {};
}

function isId(name: string, value: unknown): value is Uint8Array {
  return (name === "trace_id" || name === "span_id") && value instanceof Uint8Array;
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Reads the time of an entry. 0 means that there is none. */
function readEntryTime(attributes: MutableAttributes, time: unknown): GivenTime {
  const value = time instanceof EventTime ? time.time.ms / 1_000 : typeof time === "bigint" ? String(time) : time;
  if (value === 0 || value === "0") return { time: null, isTimeUnread: false };
  const given = readGivenTime(attributes, "time", value);
  return given.time !== null && time instanceof EventTime ? { ...given, time: time.time } : given;
}
