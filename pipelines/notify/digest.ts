import type { LogKey, UserId } from "../../src/events/event.ts";
import { acceptedAt, type EventId } from "../../src/events/id.ts";
import type { Line, Notice } from "./notice.ts";

/**
 * What one user is to be told about one class: a small durable document, and the functions that
 * change it. They are plain: no clock, no I/O.
 *
 *     gather ──▶ pending ──begin──▶ sending ──succeed──▶ (gone)
 *                   ▲                  ├──────fail─────▶ back to pending: it certainly did not go out
 *                   └── doubtful ◀─────┴─────doubt─────  it may have gone out: counted, never sent again
 *
 * Invariant: a mail is sent only after `sending` is durable, and what is in `sending` returns to
 * `pending` only where the mail certainly did not go out. So whatever ends a process in between, no
 * mail goes out twice.
 */
export type Digest = {
  readonly v: typeof VERSION;
  readonly user: UserId;
  readonly log: LogKey;
  readonly class: string;
  /** The partition of `alerts` that its notices come from: whoever is given that mails it. */
  readonly partition: number;
  /** How far each partition of `events` has been gathered: what comes again is known by it. */
  readonly marks: Readonly<Record<string, Mark>>;
  readonly pending: Gathered;
  /** How many mails went out, the one being sent included: it makes the Message-ID. */
  readonly serial: number;
  /** When the last mail had gone out, or begins to; 0 before the first. Milliseconds since the Unix epoch. */
  readonly sent_ms: number;
  readonly sending: Sending | null;
};

type Mark = { readonly offset: number; readonly line: number; readonly id: EventId };

export type Gathered = {
  readonly count: number;
  /** Events of earlier mails of which nobody knows whether they went out. */
  readonly doubtful: number;
  /** When the first of them was gathered. */
  readonly since_ms: number;
  /** The first few. */
  readonly lines: readonly Line[];
};

type Sending = {
  /** Of the attempt, so that each process knows its own. */
  readonly token: string;
  readonly gathered: Gathered;
  /** By then the attempt has ended, or its process has. */
  readonly until_ms: number;
  /** `sent_ms` as it was before. */
  readonly before_ms: number;
};

export type Rhythm = {
  /** How long the first event waits for others. */
  readonly gather_ms: number;
  /** The least time between two mails to one user about one class. */
  readonly interval_ms: number;
  /** How many events a mail shows. */
  readonly lines: number;
};

const VERSION = 1;
const NOTHING: Gathered = { count: 0, doubtful: 0, since_ms: 0, lines: [] };
/** Ids of one partition rise, but for the clocks of the processes that gave them. */
const CLOCKS_DIFFER_MS = 60_000;

export function emptyDigest({ user, log, class: classKey }: Pick<Digest, "user" | "log" | "class">): Digest {
  return {
    v: VERSION,
    user,
    log,
    class: classKey,
    partition: 0,
    marks: {},
    pending: NOTHING,
    serial: 0,
    sent_ms: 0,
    sending: null,
  };
}

/**
 * Takes in notices, in their order, but for those that it has taken in before: the same digest
 * where there is nothing new.
 */
export function gather(
  digest: Digest,
  notices: readonly Notice[],
  at: { partition: number; now_ms: number; lines: number },
): Digest {
  const marks: Record<string, Mark> = { ...digest.marks };
  const fresh = notices.filter((notice) => {
    const before = marks[notice.origin.partition];
    const after = advance(before, notice);
    marks[notice.origin.partition] = after;
    return after !== before;
  });
  if (fresh.length === 0) return digest;
  const lines = fresh.map(({ created, text, source, value }) => ({ created, text, source, value }));
  const gathered = { count: fresh.length, doubtful: 0, since_ms: at.now_ms, lines };
  return { ...digest, partition: at.partition, marks, pending: join(digest.pending, gathered, at.lines) };
}

/** The mark after a notice; the very same where it was passed before. */
function advance(mark: Mark | undefined, { id, origin: { offset, line } }: Notice): Mark {
  if (mark === undefined) return { offset, line, id };
  const isAhead = offset > mark.offset || (offset === mark.offset && line > mark.line);
  if (isAhead) return { offset, line, id: id > mark.id ? id : mark.id };
  // Behind the mark, and yet accepted after all that went before it: the topic was lost and began anew.
  return acceptedAt(id) > acceptedAt(mark.id) + CLOCKS_DIFFER_MS ? { offset, line, id } : mark;
}

/**
 * When there is something to do about a digest, in milliseconds since the Unix epoch; null: not
 * before more is gathered.
 */
export function readyAt({ sending, pending, sent_ms }: Digest, { gather_ms, interval_ms }: Rhythm): number | null {
  if (sending !== null) return sending.until_ms;
  if (pending.count === 0) return null;
  return Math.max(pending.since_ms + gather_ms, sent_ms + interval_ms);
}

/** All that is pending is about to be mailed. */
export function begin(digest: Digest, attempt: { token: string; now_ms: number; until_ms: number }): Digest {
  const { token, now_ms, until_ms } = attempt;
  const sending = { token, gathered: digest.pending, until_ms, before_ms: digest.sent_ms };
  return { ...digest, pending: NOTHING, serial: digest.serial + 1, sent_ms: now_ms, sending };
}

/** The mail went out, or never will. */
export function succeed(digest: Digest, now_ms: number): Digest {
  return { ...digest, sent_ms: now_ms, sending: null };
}

/**
 * The mail certainly did not go out: its events are told together with those that came meanwhile,
 * under the same Message-ID.
 */
export function fail(digest: Digest, lines: number): Digest {
  const { sending, pending } = digest;
  if (sending === null) return digest;
  const { gathered, before_ms } = sending;
  const both = join(gathered, pending, lines);
  return { ...digest, pending: both, serial: digest.serial - 1, sent_ms: before_ms, sending: null };
}

/** The mail may have gone out: it is not sent again, and the next one says so. */
export function doubt(digest: Digest, now_ms: number): Digest {
  const { sending, pending } = digest;
  if (sending === null) return digest;
  const doubtful = pending.doubtful + sending.gathered.count + sending.gathered.doubtful;
  return { ...digest, pending: { ...pending, doubtful }, sent_ms: now_ms, sending: null };
}

/** Nobody wants to know any more. What was gathered is forgotten; how far it was gathered is not. */
export function drop(digest: Digest): Digest {
  return { ...digest, pending: NOTHING };
}

function join(first: Gathered, second: Gathered, lines: number): Gathered {
  return {
    count: first.count + second.count,
    doubtful: first.doubtful + second.doubtful,
    since_ms: first.count === 0 ? second.since_ms : first.since_ms,
    lines: [...first.lines, ...second.lines].slice(0, lines),
  };
}
