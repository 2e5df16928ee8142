/** So many times as long as a piece took, others have the thread to themselves, where there are any. */
const SHARE = 2;
/** Steps that are shorter together are one piece: a turn of the event loop costs something as well. */
const PIECE_MS = 1;
/** The same where requests arrive. */
const SMALL_PIECE_MS = 0.4;
/** Who has sent requests sends more. */
const REQUESTS_LAST_MS = 20;

const waiting: (() => void)[] = [];
let isPacing = false;
/** Of the last piece. */
let began_ms = 0;
let ended_ms = 0;
let isUnderWay = false;
/** Whether a request has arrived since the last piece. */
let isWanted = false;
/** When that was last found. */
let wanted_ms = -Infinity;
/** How many wait for the work. */
let hurried = 0;

/**
 * For work that nobody waits for, on the thread that answers requests: awaited between two steps of
 * it, each of some tenths of a millisecond. Steps are done in pieces. Of all such work of the
 * process one piece is done at a time, and whoever else has something to do comes in between.
 *
 * A request needs several turns of the event loop. If each of them held a piece, those who post
 * over a few connections would get nowhere meanwhile, and what they have to send would pile up: so
 * where requests arrive, they get more than one turn.
 */
export function yieldToRequests(): Promise<void> {
  if (isUnderWay && isShort(performance.now())) return Promise.resolve();
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (isPacing) return;
    isPacing = true;
    nextTurn();
  });
}

/** Tells that a request has arrived. */
export function noteRequest(): void {
  isWanted = true;
}

/**
 * Tells that somebody waits for the work itself, until `waited` settles: others have no more than a
 * turn between two pieces of it then.
 */
export function hurryUntil(waited: Promise<unknown>): void {
  hurried += 1;
  void waited
    .catch(() => {})
    .finally(() => {
      hurried -= 1;
    });
}

/** Whether requests arrive: then steps that could be of any size are to be small. */
export function underLoad(): boolean {
  return isWanted || performance.now() - wanted_ms < REQUESTS_LAST_MS;
}

/** Whether the piece under way may go on. */
function isShort(now_ms: number): boolean {
  const isSmall = hurried === 0 && now_ms - wanted_ms < REQUESTS_LAST_MS;
  return now_ms - began_ms < (isSmall ? SMALL_PIECE_MS : PIECE_MS);
}

function nextTurn(): void {
  // In the same turn, one after the other: in between, the piece runs for as far as it goes without waiting.
  setImmediate(begin);
  setImmediate(end);
}

function begin(): void {
  const now_ms = performance.now();
  if (isWanted) {
    isWanted = false;
    wanted_ms = now_ms;
    const owed_ms = SHARE * (ended_ms - began_ms) - (now_ms - ended_ms);
    if (owed_ms > 0 && hurried === 0) {
      setTimeout(nextTurn, owed_ms);
      return;
    }
  }
  began_ms = now_ms;
  isUnderWay = true;
  waiting.shift()!();
}

function end(): void {
  if (!isUnderWay) return;
  isUnderWay = false;
  ended_ms = performance.now();
  isPacing = waiting.length > 0;
  if (isPacing) nextTurn();
}
