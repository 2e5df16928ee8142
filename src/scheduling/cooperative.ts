/** Ratio of idle time to work between slices while requests arrive. */
const IDLE_RATIO = 2;
/**
 * Target length of a slice. Shorter steps are combined, as each turn of the event loop has a cost.
 */
const SLICE_MS = 1;
/** Target length while requests arrive. */
const SHORT_SLICE_MS = 0.4;
/** How long after a request more requests are expected. */
const REQUESTS_LAST_MS = 20;

const waiting: (() => void)[] = [];
let isScheduled = false;
/** Times of the last slice. */
let began_ms = 0;
let ended_ms = 0;
let isInSlice = false;
/** Whether a request has arrived since this was last read. */
let hasRequest = false;
/** When `hasRequest` was last found true. */
let lastRequest_ms = -Infinity;
/** Number of callers that wait for background work. */
let prioritized = 0;

/**
 * Yields between two steps of background work on the thread that answers requests; each step should
 * take some tenths of a millisecond. Steps are combined into slices, and the process runs one slice
 * at a time, with a turn of the event loop in between.
 *
 * A request needs several turns of the event loop. With a slice in each of them, clients with few
 * connections would be slow and their data would pile up. So while requests arrive, they get more
 * than one turn between slices.
 */
export function yieldToRequests(): Promise<void> {
  if (isInSlice && mayContinue(performance.now())) return Promise.resolve();
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (isScheduled) return;
    isScheduled = true;
    nextTurn();
  });
}

/** Notes that a request has arrived. */
export function noteRequest(): void {
  hasRequest = true;
}

/**
 * Speeds up background work that a caller waits for, until `waited` settles: slices are then only a
 * turn apart, even while requests arrive.
 */
export function prioritizeUntil(waited: Promise<unknown>): void {
  prioritized += 1;
  void waited
    .catch(() => {})
    .finally(() => {
      prioritized -= 1;
    });
}

/** Whether requests are arriving. Steps of variable size should then be small. */
export function underLoad(): boolean {
  const now_ms = performance.now();
  readRequests(now_ms);
  return now_ms - lastRequest_ms < REQUESTS_LAST_MS;
}

function readRequests(now_ms: number): void {
  if (!hasRequest) return;
  hasRequest = false;
  lastRequest_ms = now_ms;
}

/** Whether the current slice may continue. */
function mayContinue(now_ms: number): boolean {
  const isShort = prioritized === 0 && now_ms - lastRequest_ms < REQUESTS_LAST_MS;
  return now_ms - began_ms < (isShort ? SHORT_SLICE_MS : SLICE_MS);
}

function nextTurn(): void {
  // Both run in the same turn. The slice runs in between, until its work waits for something else.
  setImmediate(begin);
  setImmediate(end);
}

function begin(): void {
  const now_ms = performance.now();
  readRequests(now_ms);
  if (lastRequest_ms > began_ms) {
    const owed_ms = IDLE_RATIO * (ended_ms - began_ms) - (now_ms - ended_ms);
    if (owed_ms > 0 && prioritized === 0) {
      setTimeout(nextTurn, owed_ms);
      return;
    }
  }
  began_ms = now_ms;
  isInSlice = true;
  waiting.shift()!();
}

function end(): void {
  if (!isInSlice) return;
  isInSlice = false;
  ended_ms = performance.now();
  isScheduled = waiting.length > 0;
  if (isScheduled) nextTurn();
}
