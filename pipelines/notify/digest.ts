import type { LogKey, UserId } from "../../src/events/event.ts";
import { acceptedAt, type EventId } from "../../src/events/id.ts";
import type { NoticeLine, Notice } from "./notice.ts";

/**
 * Pending and sent mail for one user and class: a small durable document, and the pure functions
 * that change it. They use no clock and no I/O.
 *
 *     notices ─▶ pending ──begin──▶ sending ──succeed──▶ (gone)
 *                   ▲                  ├──────fail─────▶ back to pending: it certainly did not go out
 *                   └── doubtful ◀─────┴─────doubt─────  it may have gone out: counted, never sent again
 *
 * Invariant: a mail is sent only after `sending` is durable, and `sending` returns to `pending`
 * only if the mail certainly did not go out. So no mail is sent twice, whatever ends a process in
 * between.
 */
export type Digest = {
  readonly v: typeof VERSION;
  readonly user: UserId;
  readonly log: LogKey;
  readonly class: string;
  /** Partition of `alerts` with the digest's notices; the partition's consumer sends the mails. */
  readonly partition: number;
  /** Progress in each partition of `events`, by which redelivered notices are recognized. */
  readonly marks: Readonly<Record<string, Mark>>;
  readonly pending: Collected;
  /** Number of mails sent, including the current one. Part of the Message-ID. */
  readonly serial: number;
  /** When the last mail was sent or its attempt began, in ms since the epoch; 0 if none was. */
  readonly sent_ms: number;
  readonly sending: Sending | null;
};

type Mark = { readonly offset: number; readonly line: number; readonly id: EventId };

export type Collected = {
  readonly count: number;
  /** Number of events of earlier mails that may or may not have gone out. */
  readonly doubtful: number;
  /** When the first event was collected. */
  readonly since_ms: number;
  /** The first few events. */
  readonly lines: readonly NoticeLine[];
};

type Sending = {
  /** Identifies the attempt, so that a process recognizes its own. */
  readonly token: string;
  readonly gathered: Collected;
  /** Time by which the attempt, or its process, has ended. */
  readonly until_ms: number;
  /** Previous value of `sent_ms`. */
  readonly before_ms: number;
};

export type Timing = {
  /** How long the first event waits for others. */
  readonly collect_ms: number;
  /** Least time between two mails to one user about one class. */
  readonly interval_ms: number;
  /** Maximum number of events that a mail shows. */
  readonly lines: number;
};

const VERSION = 1;
const NOTHING: Collected = { count: 0, doubtful: 0, since_ms: 0, lines: [] };
/** Ids of one partition rise, except for differences between the clocks of the processes. */
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

/** Adds notices in order, except those added before. Returns the same digest if none is new. */
export function addNotices(
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
  const collected = { count: fresh.length, doubtful: 0, since_ms: at.now_ms, lines };
  return { ...digest, partition: at.partition, marks, pending: join(digest.pending, collected, at.lines) };
}

/** Returns the mark after a notice, or the same object if the notice was seen before. */
function advance(mark: Mark | undefined, { id, origin: { offset, line } }: Notice): Mark {
  if (mark === undefined) return { offset, line, id };
  const isAhead = offset > mark.offset || (offset === mark.offset && line > mark.line);
  if (isAhead) return { offset, line, id: id > mark.id ? id : mark.id };
  // Behind the mark, but accepted later than all before it: the topic was lost and recreated.
  return acceptedAt(id) > acceptedAt(mark.id) + CLOCKS_DIFFER_MS ? { offset, line, id } : mark;
}

/**
 * Returns when the digest is due, in milliseconds since the Unix epoch, or null if it is not due
 * before more is collected.
 */
export function readyAt({ sending, pending, sent_ms }: Digest, { collect_ms, interval_ms }: Timing): number | null {
  if (sending !== null) return sending.until_ms;
  if (pending.count === 0) return null;
  return Math.max(pending.since_ms + collect_ms, sent_ms + interval_ms);
}

/** Begins an attempt to mail everything pending. */
export function begin(digest: Digest, attempt: { token: string; now_ms: number; until_ms: number }): Digest {
  const { token, now_ms, until_ms } = attempt;
  const sending = { token, gathered: digest.pending, until_ms, before_ms: digest.sent_ms };
  return { ...digest, pending: NOTHING, serial: digest.serial + 1, sent_ms: now_ms, sending };
}

/** Records that the mail went out or never will. */
export function succeed(digest: Digest, now_ms: number): Digest {
  return { ...digest, sent_ms: now_ms, sending: null };
}

/**
 * Records that the mail certainly did not go out. Its events are mailed with later ones, under the
 * same Message-ID.
 */
export function fail(digest: Digest, lines: number): Digest {
  const { sending, pending } = digest;
  if (sending === null) return digest;
  const { gathered, before_ms } = sending;
  const both = join(gathered, pending, lines);
  return { ...digest, pending: both, serial: digest.serial - 1, sent_ms: before_ms, sending: null };
}

/** Records that the mail may have gone out. It is not sent again, and the next mail says so. */
export function markUncertain(digest: Digest, now_ms: number): Digest {
  const { sending, pending } = digest;
  if (sending === null) return digest;
  const doubtful = pending.doubtful + sending.gathered.count + sending.gathered.doubtful;
  return { ...digest, pending: { ...pending, doubtful }, sent_ms: now_ms, sending: null };
}

/** Drops pending events without subscribers, but keeps the marks. */
export function drop(digest: Digest): Digest {
  return { ...digest, pending: NOTHING };
}

function join(first: Collected, second: Collected, lines: number): Collected {
  return {
    count: first.count + second.count,
    doubtful: first.doubtful + second.doubtful,
    since_ms: first.count === 0 ? second.since_ms : first.since_ms,
    lines: [...first.lines, ...second.lines].slice(0, lines),
  };
}
