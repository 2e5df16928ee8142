import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { send } from "./http.ts";
import type { Ledger, Outcome } from "./ledger.ts";
import { Stalls, type Watched } from "./stalls.ts";

/** A log to post to. */
export type Target = { readonly log: string; readonly apiKey: string };

export type LoadOptions = {
  readonly ledger: Ledger;
  /**
   * Base addresses for posting, `http://host:port`; a producer whose address does not answer uses
   * the next one.
   */
  readonly urls: readonly string[];
  /** Event `n` is posted to log `n` modulo their count. */
  readonly targets: readonly Target[];
  readonly producers: number;
  /** Posts per second of all producers together; unlimited by default. */
  readonly rate?: number;
  /** Total number of posts; unlimited by default. */
  readonly limit?: number;
  /** Processes whose stalls do not count in {@link Load.longest_ms}; none by default. */
  readonly watched?: readonly Watched[];
};

/** Posts that take longer are kept for {@link Load.longest_ms}. */
const SLOW_MS = 1_000;

/** Time that a producer waits after a failure before its next post. */
const PAUSE_AFTER_FAILURE_MS = 100;

export type Load = {
  /** Latencies of posts in milliseconds: those answered 201, and the slowest answered 5xx. */
  readonly latencies_ms: number[];
  readonly slowest: { accepted_ms: number; unavailable_ms: number };
  /**
   * Returns the longest time that a post took, without stalls of its process. Call it after
   * {@link done}: a stall is known once it is over.
   */
  longest_ms(): number;
  /** Number of responses by status, except 201; 0: no response. */
  readonly failures: ReadonlyMap<number, number>;
  /** Message of the last 503. */
  readonly lastMessage: string;
  /**
   * Resolves when a post started from now on was answered 201, with the time that took from now, in
   * milliseconds.
   */
  nextAccepted(): Promise<number>;
  /** Resolves when the limit is reached. */
  readonly done: Promise<void>;
  /** Stops posting; resolves when the posts in flight are answered. */
  stop(): Promise<void>;
};

/**
 * Starts producers that post events of a ledger and record each response. A post is never retried:
 * the next one has a number of its own.
 */
export function startLoad(options: LoadOptions): Load {
  const { ledger, producers, limit = Infinity, watched = [] } = options;
  const stalls = new Stalls(watched);
  const state = {
    ...options,
    slow: [] as Slow[],
    stopped: false,
    issued: 0,
    limit,
    start_ms: performance.now(),
    waiters: [] as Waiter[],
    latencies_ms: [] as number[],
    slowest: { accepted_ms: 0, unavailable_ms: 0 },
    failures: new Map<number, number>(),
    lastMessage: "",
  };
  const producing = Array.from({ length: producers }, (_, i) => produce(i, ledger, state));
  const done = (async () => {
    try {
      await Promise.all(producing);
    } finally {
      await stalls.stop();
    }
  })();
  return {
    latencies_ms: state.latencies_ms,
    slowest: state.slowest,
    longest_ms: () =>
      state.slow.reduce(
        (most_ms, { url, begun_ms, ended_ms }) =>
          Math.max(most_ms, ended_ms - begun_ms - stalls.within_ms(url, begun_ms, ended_ms)),
        0,
      ),
    failures: state.failures,
    get lastMessage() {
      return state.lastMessage;
    },
    nextAccepted: () => {
      const { promise, resolve } = Promise.withResolvers<number>();
      state.waiters.push({ since_ms: performance.now(), resolve });
      return promise;
    },
    done,
    stop: () => {
      state.stopped = true;
      return done;
    },
  };
}

type Slow = { readonly url: string; readonly begun_ms: number; readonly ended_ms: number };
type Waiter = { readonly since_ms: number; readonly resolve: (ms: number) => void };

type State = LoadOptions & {
  readonly limit: number;
  readonly start_ms: number;
  readonly latencies_ms: number[];
  readonly slowest: { accepted_ms: number; unavailable_ms: number };
  readonly slow: Slow[];
  readonly failures: Map<number, number>;
  stopped: boolean;
  issued: number;
  waiters: Waiter[];
  lastMessage: string;
};

async function produce(index: number, ledger: Ledger, state: State): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let address = index;
  try {
    while (!state.stopped && state.issued < state.limit) {
      const turn = state.issued++;
      if (state.rate !== undefined) await sleepUntil(state.start_ms + (turn * 1000) / state.rate);
      const begun_ms = performance.now();
      const n = ledger.issue();
      const target = state.targets[n % state.targets.length]!;
      const url = state.urls[address % state.urls.length]!;
      const outcome = await postOne(ledger, n, { url, target, agent }, state);
      ledger.settle(n, outcome);
      note(outcome, { url, begun_ms, ended_ms: performance.now() }, state);
      if (outcome.kind === "accepted") continue;
      if (outcome.kind === "open" && outcome.status === null) address += 1;
      await sleep(PAUSE_AFTER_FAILURE_MS);
    }
  } finally {
    agent.destroy();
  }
}

async function sleepUntil(moment_ms: number): Promise<void> {
  const wait_ms = moment_ms - performance.now();
  if (wait_ms > 1) await sleep(wait_ms);
}

function note(outcome: Outcome, post: Slow, state: State): void {
  const { begun_ms, ended_ms } = post;
  const took_ms = ended_ms - begun_ms;
  if (took_ms > SLOW_MS) state.slow.push(post);
  if (outcome.kind === "accepted") {
    state.latencies_ms.push(took_ms);
    state.slowest.accepted_ms = Math.max(state.slowest.accepted_ms, took_ms);
    state.waiters = state.waiters.filter(({ since_ms, resolve }) => {
      if (since_ms > begun_ms) return true;
      resolve(performance.now() - since_ms);
      return false;
    });
    return;
  }
  const status = outcome.status ?? 0;
  state.failures.set(status, (state.failures.get(status) ?? 0) + 1);
  state.slowest.unavailable_ms = Math.max(state.slowest.unavailable_ms, took_ms);
}

const FORM = { "Content-Type": "application/x-www-form-urlencoded" };

/** Posts event `n` once. */
export async function postOne(
  ledger: Ledger,
  n: number,
  { url, target, agent }: { url: string; target: Target; agent?: Agent },
  state: { lastMessage: string } = { lastMessage: "" },
): Promise<Outcome> {
  try {
    const { status, text } = await send({
      url: `${url}/1/logs/${target.log}/events`,
      method: "POST",
      headers: FORM,
      body: ledger.formOf(n, target.apiKey),
      ...(agent && { agent }),
    });
    if (status === 201) return { kind: "accepted", id: (JSON.parse(text) as { id: string }).id };
    state.lastMessage = text;
    return status >= 500 ? { kind: "open", status } : { kind: "refused", status };
  } catch {
    return { kind: "open", status: null };
  }
}
