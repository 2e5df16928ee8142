import type { Bus } from "../bus/bus.ts";
import { LoggiaError } from "../errors.ts";
import type { AcceptedEvent, LogKey } from "../events/event.ts";
import type { EventId, IdSource } from "../events/id.ts";
import { encodeLine, encodeRecord, encodeVisitLine } from "../events/record.ts";
import type { Draft } from "./draft.ts";
import type { VisitDraft } from "./visit-draft.ts";

export type GathererOptions = {
  readonly bus: Bus;
  readonly ids: IdSource;
  /** A post that the bus has not taken by then is answered 503. */
  readonly deadline_ms: number;
  /** How long one append may take: so long after its id an event may still come to be on the bus (see `src/api/horizon.ts`). */
  readonly append_ms: number;
  /** Posts beyond these bounds are refused with 503 at once: a full queue would only make all of them late. */
  readonly maxWaitingEvents: number;
  readonly maxWaitingBytes: number;
};

/** Bounds of one append: large enough to be cheap per event, small enough for the bus's limit on a record (1 MB on Kafka). */
const APPEND_MAX_EVENTS = 2_000;
const RECORD_MAX_BYTES = 400_000;

type Accepted = Pick<AcceptedEvent, "id" | "log" | "created">;

type Waiting = {
  readonly log: LogKey;
  /** The line of its record, once it is accepted. */
  readonly encode: (accepted: Accepted) => string;
  readonly size_bytes: number;
  readonly arrived_ms: number;
  readonly resolve: (id: EventId) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Gathers posts into few appends to the bus: whatever arrives while one append is under way shares the next one.
 * So a lone post waits for nobody, and a flood costs one durable write for hundreds of events.
 *
 * Ids are given when an append starts, so that their order is the order on the bus.
 */
export type Gatherer = {
  /** Resolves with the event's id once the bus holds it durably. @throws LoggiaError `bus_unavailable`, `overloaded` */
  submit(log: LogKey, draft: Draft): Promise<EventId>;
  /** The same of a visit: it shares appends, bounds and ids with the events. */
  submitVisit(log: LogKey, draft: VisitDraft): Promise<EventId>;
  /** Resolves when nothing waits any more. */
  drain(): Promise<void>;
};

export function createGatherer({
  bus,
  ids,
  deadline_ms,
  append_ms,
  maxWaitingEvents,
  maxWaitingBytes,
}: GathererOptions): Gatherer {
  let queue: Waiting[] = [];
  let waiting_events = 0;
  let waiting_bytes = 0;
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    // Posts that were read in the same turn of the event loop come along with the first.
    await new Promise(setImmediate);
    while (queue.length > 0) {
      const batch = queue.length <= APPEND_MAX_EVENTS ? queue : queue.slice(0, APPEND_MAX_EVENTS);
      queue = batch === queue ? [] : queue.slice(APPEND_MAX_EVENTS);
      await append(batch);
    }
    running = null;
  }

  async function append(batch: readonly Waiting[]): Promise<void> {
    const now_ms = performance.now();
    const live = batch.filter((post) => now_ms - post.arrived_ms < deadline_ms);
    for (const post of batch) if (now_ms - post.arrived_ms >= deadline_ms) post.reject(late());
    const oldest_ms = live[0]?.arrived_ms ?? now_ms;
    try {
      if (live.length > 0) {
        const { records, ids: given } = buildRecords(live, ids);
        await bus.append("events", records, { deadline_ms: Math.min(append_ms, deadline_ms - (now_ms - oldest_ms)) });
        live.forEach((post, i) => post.resolve(given[i]!));
      }
    } catch (error) {
      for (const post of live) post.reject(error);
    } finally {
      for (const post of batch) {
        waiting_events -= 1;
        waiting_bytes -= post.size_bytes;
      }
    }
  }

  function enqueue(log: LogKey, size_bytes: number, encode: Waiting["encode"]): Promise<EventId> {
    if (waiting_events >= maxWaitingEvents || waiting_bytes + size_bytes > maxWaitingBytes) {
      return Promise.reject(new LoggiaError("overloaded", "Too many posts are waiting for the bus; try again shortly"));
    }
    waiting_events += 1;
    waiting_bytes += size_bytes;
    return new Promise((resolve, reject) => {
      queue.push({ log, encode, size_bytes, arrived_ms: performance.now(), resolve, reject });
      running ??= run();
    });
  }

  return {
    submit: (log, draft) => enqueue(log, sizeOf(draft), (accepted) => encodeLine({ ...draft, ...accepted })),
    submitVisit: (log, draft) =>
      enqueue(log, sizeOfVisit(draft), (accepted) => encodeVisitLine({ ...draft, ...accepted })),
    async drain() {
      await running;
    },
  };
}

/** Records by log, in order of arrival, with the ids given to the posts. */
function buildRecords(posts: readonly Waiting[], ids: IdSource) {
  const given: EventId[] = [];
  const records: { key: string; value: Buffer }[] = [];
  const open = new Map<LogKey, { lines: string[]; size_bytes: number }>();
  const close = (log: LogKey, lines: readonly string[]): void => {
    records.push({ key: log, value: encodeRecord(log, lines) });
  };
  for (const { log, encode, size_bytes } of posts) {
    const { id, created } = ids();
    given.push(id);
    let record = open.get(log);
    if (record !== undefined && record.size_bytes + size_bytes > RECORD_MAX_BYTES) {
      close(log, record.lines);
      record = undefined;
    }
    if (record === undefined) open.set(log, (record = { lines: [], size_bytes: 0 }));
    record.lines.push(encode({ id, log, created }));
    record.size_bytes += size_bytes;
  }
  for (const [log, { lines }] of open) close(log, lines);
  return { records, ids: given };
}

function sizeOfVisit({ user, email, page }: VisitDraft): number {
  return (user.length + email.length + page.length) * 3 + 200;
}

/** An estimate, seldom exceeded, of what the draft takes on the bus: three bytes a UTF-16 unit (twice that only for control characters), and room for names and punctuation. */
function sizeOf(draft: Draft): number {
  const tags = draft.tags.reduce((sum, tag) => sum + tag.length + 3, 0);
  const units =
    draft.text.length + draft.link.length + draft.source.length + draft.user.length + tags + (draft.data?.length ?? 0);
  return units * 3 + 200;
}

function late(): LoggiaError {
  return new LoggiaError("bus_unavailable", "What was posted could not be stored in time; try again shortly");
}
