import type { Bus, BusRecord, NewRecord, Position } from "../../src/bus/bus.ts";
import type { DeletionLog } from "../../src/bus/deletions.ts";
import type { Deletion } from "../../src/events/deletion.ts";
import { decodeRecord } from "../../src/events/record.ts";
import { firstCharacters } from "../../src/events/text.ts";
import type { DeadLetters, DeadLetterSummary, DeadLetterPage, Redriven } from "../../src/operations/operations.ts";
import type { Store } from "../../src/store/store.ts";
import { decodeLetter, deadLetterRecord } from "./codec.ts";
import type { DeadLetter } from "./codec.ts";
import { decodeMark, encodeMark } from "./mark.ts";

/** Bounds of one read and of one append. */
const BATCH = { maxRecords: 500, maxBytes: 1024 * 1024 } as const;
const CONTENT_MAX_CHARACTERS = 200;
/** Maximum size of incomplete letters in memory. */
const WAITING_MAX_BYTES = 64 * 1024 * 1024;

/**
 * Gives operators access to a bus's dead letters. Redriven letters stay on the topic and are marked
 * by a later record. As all writes of the pipeline are create-only, redriving a letter twice
 * changes nothing.
 */
export function createDeadLetters(ports: DeadLetterPorts): DeadLetters {
  return {
    list: (page) => list(ports.bus, page),
    redrive: (which) => redrive(ports, which),
  };
}

export type DeadLetterPorts = {
  readonly bus: Pick<Bus, "append" | "read">;
  readonly store: Pick<Store, "deletionsAmong">;
  readonly deletions: DeletionLog;
};

/** Reads the topic twice, since marks follow their letters, to hold only a page of letters. */
async function list(
  bus: Pick<Bus, "read">,
  { after, limit, state }: Parameters<DeadLetters["list"]>[0],
): Promise<DeadLetterPage> {
  const marks = await readMarks(bus);
  const letters: DeadLetterSummary[] = [];
  const from = after === null ? null : parseId(after);
  for await (const { id, letter } of firstParts(bus, from)) {
    if (id === after) continue;
    const redriven = marks.times.get(id) ?? null;
    if (state === "open" && redriven !== null) continue;
    if (letters.length === limit) return { letters, next: letters.at(-1)!.id, open: marks.open, total: marks.total };
    letters.push(toLetter(id, letter, redriven));
  }
  return { letters, next: null, open: marks.open, total: marks.total };
}

function toLetter(
  id: string,
  { time, stage, reason, origin, key, content }: DeadLetter,
  redriven: number | null,
): DeadLetterSummary {
  const start = content.subarray(0, 4 * CONTENT_MAX_CHARACTERS).toString("utf8");
  const { topic, partition, offset, line } = origin;
  return {
    id,
    time,
    redriven,
    stage,
    reason,
    origin: { topic, partition, offset, line },
    key,
    content: firstCharacters(start, CONTENT_MAX_CHARACTERS),
  };
}

type Marks = { readonly times: ReadonlyMap<string, number>; readonly open: number; readonly total: number };

async function readMarks(bus: Pick<Bus, "read">): Promise<Marks> {
  const times = new Map<string, number>();
  let total = 0;
  let first: Position | null = null;
  for await (const batch of bus.read({ topic: "dead-letters", ...BATCH })) {
    first ??= batch[0]!.position;
    for (const record of batch) {
      const mark = decodeMark(record);
      if (mark !== null) for (const id of mark.ids) times.set(id, mark.time);
      else if (decodeLetter(record.value)?.part === 1) total += 1;
    }
  }
  // Ignores marks of letters that the bus has removed since.
  const marked = [...times.keys()].filter((id) => first === null || (parseId(id)?.offset ?? 0) >= first.offset);
  return { times, open: Math.max(0, total - marked.length), total };
}

/** Yields the first parts of letters with their ids. */
async function* firstParts(
  bus: Pick<Bus, "read">,
  from: { partition: number; offset: number } | null,
): AsyncGenerator<{ id: string; letter: DeadLetter }> {
  for await (const { position, value } of records(bus, from)) {
    const letter = decodeLetter(value);
    if (letter?.part === 1) yield { id: idOf(position), letter };
  }
}

async function* records(
  bus: Pick<Bus, "read">,
  from: { partition: number; offset: number } | null,
): AsyncGenerator<BusRecord> {
  for await (const batch of bus.read({ topic: "dead-letters", ...BATCH, ...(from && { from: [from] }) })) yield* batch;
}

async function redrive(
  { bus, store, deletions }: DeadLetterPorts,
  which: "all" | readonly string[],
): Promise<Redriven> {
  const marks = which === "all" ? await readMarks(bus) : null;
  const requested = which === "all" ? null : new Set(which.map((id) => canonicalId(id)));
  const isWanted = (id: string): boolean => (requested === null ? !marks!.times.has(id) : requested.has(id));
  const found = new Set<string>();
  let waiting: { id: string; record: NewRecord }[] = [];
  let size_bytes = 0;

  async function flush(): Promise<void> {
    if (waiting.length === 0) return;
    await bus.append(
      "events",
      waiting.map(({ record }) => record),
    );
    await deletions.append(await deletionsOf(store, waiting));
    // The mark comes last: if the process stops before it, the letters are redriven again, which is
    // harmless.
    await bus.append("dead-letters", [encodeMark({ ids: waiting.map(({ id }) => id), time: Date.now() })]);
    for (const { id } of waiting) found.add(id);
    waiting = [];
    size_bytes = 0;
  }

  for await (const { id, letters } of wholeLetters(bus)) {
    if (!isWanted(id)) continue;
    const record = deadLetterRecord(letters);
    if (waiting.length >= BATCH.maxRecords || size_bytes + record.value.length > BATCH.maxBytes) await flush();
    waiting.push({ id, record });
    size_bytes += record.value.length;
  }
  await flush();
  return { redriven: found.size, missing: requested === null ? [] : [...requested].filter((id) => !found.has(id)) };
}

/**
 * Returns the deletions of redriven events. A deletion must be on the bus as long as its event, so
 * it is appended again after the event.
 */
async function deletionsOf(
  store: DeadLetterPorts["store"],
  sent: readonly { readonly record: NewRecord }[],
): Promise<Deletion[]> {
  const lines = sent.flatMap(({ record }) => decodeRecord(record.value));
  const events = lines.flatMap((line) => (line.kind === "event" ? line.event : []));
  const found: Deletion[] = [];
  for (const [log, ofLog] of Map.groupBy(events, ({ log }) => log)) {
    const ids = ofLog.map(({ id }) => id);
    found.push(...(await store.deletionsAmong(log, ids)));
  }
  return found;
}

type Parts = [DeadLetter, ...DeadLetter[]];

/** Yields letters with all their parts, by the id of the first part. Skips incomplete letters. */
async function* wholeLetters(bus: Pick<Bus, "read">): AsyncGenerator<{ id: string; letters: Parts }> {
  const waiting = new Map<string, { id: string; letters: Parts }>();
  let waiting_bytes = 0;
  for await (const { position, value } of records(bus, null)) {
    const letter = decodeLetter(value);
    if (letter === null) continue;
    if (letter.parts === 1) {
      yield { id: idOf(position), letters: [letter] };
      continue;
    }
    const { topic, partition, offset, line } = letter.origin;
    const name = [topic, partition, offset, line, letter.time].join();
    const whole = waiting.get(name);
    if (whole === undefined) {
      // Parts are written in order: without a first part before it, a letter is never complete.
      if (letter.part === 1) waiting.set(name, { id: idOf(position), letters: [letter] });
    } else if (letter.part === whole.letters.length + 1) {
      whole.letters.push(letter);
    }
    waiting_bytes += letter.content.length;
    if (whole !== undefined && whole.letters.length === letter.parts) {
      waiting.delete(name);
      yield whole;
    }
    if (waiting.size === 0) waiting_bytes = 0;
    if (waiting_bytes > WAITING_MAX_BYTES) {
      // The letters pending here were cut off while being written, and were written again.
      waiting.clear();
      waiting_bytes = 0;
    }
  }
}

function idOf({ partition, offset }: Position): string {
  return partition === 0 ? String(offset) : `${partition}-${offset}`;
}

/** Returns the position of a letter, or null if `id` is malformed. */
function parseId(id: string): { partition: number; offset: number } | null {
  const [, partition = "0", offset = ""] = /^(?:(\d{1,9})-)?(\d{1,15})$/.exec(id) ?? [];
  return offset === "" ? null : { partition: Number(partition), offset: Number(offset) };
}

function canonicalId(id: string): string {
  const place = parseId(id);
  return place === null ? id : idOf({ topic: "dead-letters", ...place });
}
