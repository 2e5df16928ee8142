import { LoggiaError } from "../../errors.ts";
import { KEYWORD_FIELDS } from "../../events/keywords.ts";
import { mapKeywords } from "../../events/map-keywords.ts";
import type { FieldLimits } from "../../events/limits.ts";
import { scanLines } from "../../events/line-scanner.ts";
import type { LineReader, OpenLines } from "../../events/lines.ts";
import type { LineFields } from "../../events/line-fields.ts";
import { encodeFields } from "../../events/record.ts";
import { distinctTags, NO_TAGS } from "../../events/tags.ts";
import { noteRequest } from "../../scheduling/cooperative.ts";
import { DECODING, Yielder } from "../../scheduling/yielding.ts";
import { FREE_EVENTS, maxEvents } from "../kit/amplification.ts";
import { AT_ONCE_BYTES, withoutMark } from "../kit/json.ts";
import { JsonScanner, malformedJson } from "../kit/json-scanner.ts";
import type { Steps, Pending } from "../kit/steps.ts";
import { readFilledLines, lineOfBytes } from "../kit/text-lines.ts";
import { KEPT_BYTES, readOnly, readValue as readJsonValue } from "../kit/long-json.ts";
import { isPending, runSteps } from "../kit/steps.ts";
import { bad, isWritable, readItem } from "./json-event.ts";
import { KeyMask } from "./key-mask.ts";
import { claimedTime, readCreated } from "../append/created.ts";
import type { CreatedRange } from "../append/created.ts";
import { readAttributes } from "./attributes.ts";
import { withErrorEvents } from "./batch-faults.ts";
import type { Batch, ReadItem } from "./batch-faults.ts";
import { POSTED_FIELDS } from "./validated-event.ts";

/** Form of events in JSON: one object per line, one array of objects, or one object. */
export type BatchForm = "lines" | "array" | "object";

export const BATCH_MAX_EVENTS = 5_000;
export const BATCH_MAX_BYTES = 5_000_000;

/** Batches up to this size are read at once, without waiting for larger ones. */
const SMALL_BYTES = 64 * 1024;

/** Runs the reading of a large batch when its turn comes. */
export type BatchTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Body of a batch. `sent_bytes` is its size as sent, before decompression. */
export type BatchBody = { readonly body: Buffer; readonly sent_bytes: number };

/**
 * Reads the body of a batch. Larger batches are read one after the other, in steps that let posts
 * pass. An invalid event, or a line that is not a JSON object, becomes an error event.
 *
 * @throws LoggiaError `bad_body` if an array is not JSON, or there is no event; `body_too_large` if
 * there are too many events; errors of `turn`
 */
export async function readBatch(
  form: BatchForm,
  given: BatchBody,
  rules: BatchRules,
  turn: BatchTurn = (work) => work(),
): Promise<Batch> {
  const reading = (): Promise<Batch> => read(form, given, rules);
  return given.body.length <= SMALL_BYTES ? await reading() : await turn(reading);
}

/** What the events of a batch are checked by. */
export type BatchRules = {
  readonly limits: FieldLimits;
  readonly range: CreatedRange;
  /** The API key of the request, which error events must not hold. */
  readonly secret: string;
  /** Default: `scanLines` */
  readonly openLines?: OpenLines | undefined;
};

async function read(form: BatchForm, given: BatchBody, rules: BatchRules): Promise<Batch> {
  const text = withoutMark(given.body);
  const reader = new BatchReader(text, mostEvents(given), rules);
  if (form === "object") return await withErrorEvents([await reader.object()], reader.yielder);
  const items = await (form === "array" ? reader.array() : reader.lines());
  if (items.length === 0) throw new LoggiaError("bad_body", "The batch must hold at least one event");
  return await withErrorEvents(items, reader.yielder);
}

/** Returns the event limit. Many events from few bytes cost the log far more than the sender. */
function mostEvents({ body, sent_bytes }: BatchBody): number {
  return sent_bytes < body.length ? Math.min(BATCH_MAX_EVENTS, maxEvents(sent_bytes)) : BATCH_MAX_EVENTS;
}

const OPEN = 0x7b;

/** Reads the events of one body, with turns for other work in between. */
class BatchReader {
  readonly yielder = new Yielder(noteRequest, DECODING);
  readonly #body: Buffer;
  readonly #most: number;
  readonly #limits: FieldLimits;
  readonly #range: CreatedRange;
  readonly #mask: KeyMask;
  readonly #openLines: OpenLines;

  constructor(body: Buffer, most: number, { limits, range, secret, openLines = scanLines }: BatchRules) {
    this.#body = body;
    this.#most = most;
    this.#limits = limits;
    this.#range = range;
    this.#mask = new KeyMask(secret);
    this.#openLines = openLines;
  }

  /** Reads a body that is one event. */
  async object(): Promise<ReadItem> {
    if (this.#body.length <= AT_ONCE_BYTES) return this.#parseOne(this.#body.toString("utf8"));
    return await runSteps(this.#long(this.#body, "the body"), this.yielder);
  }

  /** Reads an array of events. */
  async array(): Promise<readonly ReadItem[]> {
    const items: ReadItem[] = [];
    let count = 0;
    for (const item of this.#elements()) {
      if (!isPending(item) && ++count <= this.#most) items.push(item);
      if (this.yielder.isDue) await this.yielder.turn();
    }
    if (count > this.#most) throw tooMany(count, this.#most);
    return items;
  }

  /** Reads one event per line. Blank lines are skipped. */
  async lines(): Promise<readonly ReadItem[]> {
    const items: ReadItem[] = [];
    const reader = this.#openLines(this.#body);
    while (reader.hasNext) {
      const item = this.#line(reader) ?? (await this.#parsedLine(reader.bytes));
      if (this.yielder.isDue) await this.yielder.turn();
      if (item === null) continue;
      if (items.length === this.#most) throw tooMany(await this.#filledLines(), this.#most);
      items.push(item);
    }
    return items;
  }

  *#elements(): Generator<ReadItem | Pending> {
    if (this.#body.length <= AT_ONCE_BYTES) {
      for (const one of parseArray(this.#body.toString("utf8"))) yield this.#posted(one);
      return;
    }
    const scanner = new JsonScanner(this.#body);
    let end = scanner.skipBlank(0) + 1;
    for (let at = scanner.firstOf(end - 1); at !== -1; at = scanner.nextOf(end)) {
      end = yield* scanner.endOf(at);
      yield yield* this.#item(this.#body.subarray(at, end));
    }
    const after = scanner.skipBlank(scanner.skipBlank(end) + 1);
    if (after < this.#body.length) throw malformedJson("there is more data after its end");
  }

  #parseOne(text: string): ReadItem {
    const hint = text.trim().includes("\n") ? "; one event per line needs the Content-Type application/x-ndjson" : "";
    return this.#parsed(text, (message) => `the body is not valid JSON: ${message}${hint}`);
  }

  /** Reads an event. An invalid one is read again without its keys, as its faults quote it. */
  #parsed(text: string, faultOf: (message: string) => string): ReadItem {
    const value = parsedOr(text);
    const item = value instanceof Error ? bad([faultOf(value.message)], text) : this.#read(value);
    if (item.fault === null) return item;
    const masked = value instanceof Error ? this.#mask.hideUnparsed(text) : this.#mask.hide(text);
    if (masked === text) return item;
    const again = parsedOr(masked);
    if (again instanceof Error) return bad([faultOf(again.message)], masked);
    const other = this.#read(again);
    return other.fault === null ? bad(["the event is invalid, and contains its API key"], masked) : other;
  }

  /** Reads an event of an array, as {@link #parsed} does. */
  #posted(value: unknown): ReadItem {
    const item = this.#read(value);
    if (item.fault === null) return item;
    return isWritable(value) ? this.#parsed(JSON.stringify(value), (message) => message) : this.#masked(item);
  }

  #read(value: unknown): ReadItem {
    return readItem(value, this.#limits, this.#range);
  }

  /** Hides the key in a fault, and in what was posted. */
  #masked(item: ReadItem): ReadItem {
    if (item.fault === null) return item;
    return bad([this.#mask.hide(item.fault)], this.#mask.hideUnparsed(item.posted));
  }

  /** Reads a value that begins and ends with these bytes, whatever its length. */
  *#item(bytes: Buffer): Steps<ReadItem> {
    const { value, isCut } = yield* readOnly(bytes, JSON.parse);
    if (!isCut || bytes[0] !== OPEN) return this.#masked(this.#read(value));
    // Other members may have any length, as they are ignored.
    const scanner = new JsonScanner(bytes);
    const { starts } = yield* scanner.membersOf(0, POSTED_FIELDS);
    const fields: Record<string, unknown> = {};
    const cut = new Set<string>();
    for (const [name, start] of Object.entries(starts)) {
      const read = yield* readJsonValue(scanner, start!, JSON.parse);
      fields[name] = read.value;
      if (read.isCut) cut.add(name);
    }
    return this.#masked(readItem(fields, this.#limits, this.#range, cut));
  }

  /** Reads an event that is too long to be parsed at once. */
  *#long(bytes: Buffer, what: string): Steps<ReadItem> {
    try {
      return yield* this.#item(bytes.subarray(new JsonScanner(bytes).skipBlank(0)));
    } catch (error) {
      if (!(error instanceof LoggiaError)) throw error;
      return this.#masked(bad([`${what} is not valid JSON: ${error.message}`], bytes.toString("utf8", 0, KEPT_BYTES)));
    }
  }

  /** Reads the next line if it is as most lines are; null if it must be parsed. */
  #line(reader: LineReader): ReadItem | null {
    if (!reader.next()) return null;
    const [limits, range] = [this.#limits, this.#range];
    const item = readPlain(reader, limits, range) ?? readItem(itemOf(reader.fields), limits, range);
    // Faults come from parsing the whole line: all of them, in the order of the fields.
    return item.fault === null ? item : null;
  }

  /** Parses a line; null if it is blank. */
  async #parsedLine(bytes: Buffer): Promise<ReadItem | null> {
    const line = await runSteps(lineOfBytes(bytes), this.yielder);
    if (line === "") return null;
    if (typeof line === "string") return this.#parsed(line, (message) => `the line is not valid JSON: ${message}`);
    return await runSteps(this.#long(line, "the line"), this.yielder);
  }

  /** Returns the number of lines that are not blank. */
  async #filledLines(): Promise<number> {
    let lines = 0;
    for (const line of readFilledLines(this.#body)) {
      if (!isPending(line)) lines += 1;
      if (this.yielder.isDue) await this.yielder.turn();
    }
    return lines;
  }
}

function tooMany(count: number, most: number): LoggiaError {
  const why = most === BATCH_MAX_EVENTS ? "" : ` (${FREE_EVENTS}, and one for each compressed byte sent)`;
  return new LoggiaError("body_too_large", `The batch may hold at most ${most} events${why}; it holds ${count}`);
}

function parseArray(text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new LoggiaError("bad_body", `The body must be JSON: ${(error as Error).message}`, { cause: error });
  }
  if (Array.isArray(value)) return value;
  throw new LoggiaError(
    "bad_body",
    "The body must be a JSON array of events; one event per line needs the Content-Type application/x-ndjson",
  );
}

/** Returns the fields as `JSON.parse` would. */
function itemOf(fields: LineFields): Record<string, unknown> {
  const { attributes } = fields;
  return typeof attributes === "string" ? { ...fields, attributes: parsed(attributes) } : fields;
}

/** Parses JSON. Invalid JSON stays text: its fault is found when the whole line is parsed. */
function parsed(json: string | null): unknown {
  if (json === null) return null;
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/**
 * Reads an event whose bytes go to the bus as posted, except for its attributes. Returns null if a
 * field needs another encoding or may be invalid.
 */
function readPlain(line: LineReader, limits: FieldLimits, range: CreatedRange): ReadItem | null {
  const { fields } = line;
  const { id, created, text, tags, data } = fields;
  if (!line.isPlain || id !== undefined || data === "" || typeof text !== "string" || text.trim() === "") return null;
  if (!fits(text, limits.text) || !fits(data, limits.data) || !areTags(tags, limits.tags)) return null;
  for (const name of KEYWORD_FIELDS) if (!fits(fields[name], limits[name])) return null;
  if (claimedTime(created, range) !== null) return null;
  const faults: string[] = [];
  const moment = readCreated(created, range, faults);
  const plain = fields.attributes === undefined ? line.withoutCreated : plainFields(line, limits, faults);
  if (faults.length > 0) return null;
  return { line: { fields: plain, created: moment === null ? null : String(moment) }, fault: null };
}

/** Returns the fields of a plain line: its bytes as posted, unless attributes need re-encoding. */
function plainFields(line: LineReader, limits: FieldLimits, faults: string[]): string {
  const { fields } = line;
  const { text, tags, value, data, attributes = null } = fields;
  const encoded = readAttributes(parsed(attributes), limits, faults);
  if (encoded === attributes) return line.withoutCreated;
  return encodeFields({
    ...mapKeywords((name) => fields[name] ?? ""),
    text: text as string,
    tags: (tags as readonly string[] | undefined) ?? NO_TAGS,
    value: (value as number | undefined) ?? null,
    geo: null,
    data: data ?? null,
    attributes: encoded,
  });
}

/** Compares UTF-16 units, of which a text has at least as many as characters. */
function fits(text: string | null | undefined, limit: number): boolean {
  return text === undefined || (text !== null && text.length <= limit);
}

/**
 * Returns whether the tags equal the result of {@link splitTags}. They are ASCII without escapes,
 * so a blank is the only white space they can contain.
 */
function areTags(tags: LineFields["tags"], limit: number): boolean {
  if (tags === undefined) return true;
  if (tags === null || typeof tags === "string" || distinctTags(tags) !== tags) return false;
  let length = tags.length - 1;
  for (const tag of tags) {
    if (tag === "" || tag.includes(" ")) return false;
    length += tag.length;
  }
  return length <= limit;
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error;
  }
}
