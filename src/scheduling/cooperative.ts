/** Ratio of idle time to work between pieces while requests arrive. */
const SHARE = 2;
/**
 * Target length of a piece. Shorter steps are combined, as each turn of the event loop has a cost.
 */
const PIECE_MS = 1;
/** Target length while requests arrive. */
const SMALL_PIECE_MS = 0.4;
/** How long after a request more requests are expected. */
const REQUESTS_LAST_MS = 20;

const waiting: (() => void)[] = [];
let isPacing = false;
/** Times of the last piece. */
let began_ms = 0;
let ended_ms = 0;
let isUnderWay = false;
/** Whether a request has arrived since the last piece. */
let isWanted = false;
/** When `isWanted` was last found true. */
let wanted_ms = -Infinity;
/** Number of callers that wait for background work. */
let hurried = 0;

/**
 * Yields between two steps of background work on the thread that answers requests; each step should
 * take some tenths of a millisecond. Steps are combined into pieces, and the process runs one piece
 * at a time, with a turn of the event loop in between.
 *
 * A request needs several turns of the event loop. With a piece in each of them, clients with few
 * connections would be slow and their data would pile up. So while requests arrive, they get more
 * than one turn between pieces.
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

/** Notes that a request has arrived. */
export function noteRequest(): void {
  isWanted = true;
}

/**
 * Speeds up background work that a caller waits for, until `waited` settles: pieces are then only a
 * turn apart, even while requests arrive.
 */
export function hurryUntil(waited: Promise<unknown>): void {
  hurried += 1;
  void waited
    .catch(() => {})
    .finally(() => {
      hurried -= 1;
    });
}

/** Whether requests are arriving. Steps of variable size should then be small. */
export function underLoad(): boolean {
  return isWanted || performance.now() - wanted_ms < REQUESTS_LAST_MS;
}

/** Whether the current piece may continue. */
function isShort(now_ms: number): boolean {
  const isSmall = hurried === 0 && now_ms - wanted_ms < REQUESTS_LAST_MS;
  return now_ms - began_ms < (isSmall ? SMALL_PIECE_MS : PIECE_MS);
}

function nextTurn(): void {
  // Both run in the same turn. The piece runs in between, until its work waits for something else.
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
