import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { send } from "./http.ts";

type Stall = { readonly from_ms: number; readonly to_ms: number; readonly stalled_ms: number };

/** A process: its base address, `http://host:port`, and its id while it runs. */
export type Watched = { readonly url: string; readonly pid: () => number | null };

const EVERY_MS = 200;
/** Shorter delays are part of any answer. */
const SHORTEST_MS = 500;
const SAMPLE_MS = 50;

/** What the kernel knows of a process, in milliseconds. */
type Usage = {
  /** Processor time of the main thread. */
  readonly worked_ms: number;
  /** By thread: how long it was ready to run and got no processor. */
  readonly queued_ms: ReadonlyMap<string, number>;
};

/**
 * Records how long processes stood still because the machine did. A request that needs no engine
 * was late, and of that time these parts count, together at most what the main thread did not work:
 *
 * - the time in which one of its threads, the one that waited longest, was ready to run and got no
 *   processor: the main thread may wait for another, as in a garbage collection;
 * - the time in which the main thread waited for a disk (the kernel's state D) or was stopped;
 * - the time by which a timer of this process was late.
 *
 * All other waiting is the service's own, such as that for a lock of a file.
 */
export class Stalls {
  readonly #stalls = new Map<string, Stall[]>();
  #isStopped = false;
  readonly #watching: Promise<unknown>;

  constructor(watched: readonly Watched[]) {
    this.#watching = Promise.all(watched.map((each) => this.#watch(each)));
  }

  async #watch({ url, pid }: Watched): Promise<void> {
    const stalls: Stall[] = [];
    this.#stalls.set(url, stalls);
    while (!this.#isStopped) {
      const id = pid();
      const before = usageOf(id);
      const from_ms = performance.now() + EVERY_MS;
      await sleep(EVERY_MS);
      const late_ms = performance.now() - from_ms;
      const answer = send({ url: `${url}/health/live` }).catch(() => null);
      const waited_ms = late_ms + (await waitUntil(answer, id));
      const to_ms = performance.now();
      const length_ms = to_ms - from_ms;
      if (length_ms < SHORTEST_MS || id !== pid()) continue;
      const after = usageOf(id);
      const idle_ms = length_ms - (after.worked_ms - before.worked_ms);
      const stalled_ms = Math.min(idle_ms, longestQueue_ms(before, after) + waited_ms);
      if (stalled_ms > 0) stalls.push({ from_ms, to_ms, stalled_ms });
    }
  }

  /**
   * Returns how long the process at an address stood still between two moments, at most: a stall
   * may have been in any part of its span.
   */
  within_ms(url: string, start_ms: number, end_ms: number): number {
    const parts = (this.#stalls.get(url) ?? []).map(({ from_ms, to_ms, stalled_ms }) =>
      Math.min(stalled_ms, Math.min(to_ms, end_ms) - Math.max(from_ms, start_ms)),
    );
    return parts.reduce((sum, part) => sum + Math.max(0, part), 0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#watching;
  }
}

/**
 * Looks at a process until an answer arrives. Returns how long its main thread waited for a disk or
 * was stopped, or this process was late itself.
 */
async function waitUntil(answer: Promise<unknown>, pid: number | null): Promise<number> {
  const answered = answer.then(() => true);
  for (let waited_ms = 0; ;) {
    const start_ms = performance.now();
    const isAnswered = await Promise.race([answered, sleep(SAMPLE_MS, false)]);
    const took_ms = performance.now() - start_ms;
    waited_ms += isHeld(pid) ? took_ms : Math.max(0, took_ms - SAMPLE_MS);
    if (isAnswered) return waited_ms;
  }
}

function longestQueue_ms(before: Usage, after: Usage): number {
  const queues_ms = [...after.queued_ms].map(([thread, ms]) => ms - (before.queued_ms.get(thread) ?? 0));
  return Math.max(0, ...queues_ms);
}

/** Returns what a process used so far; nothing if it is gone. */
function usageOf(pid: number | null): Usage {
  const queued_ms = new Map<string, number>();
  let worked_ms = 0;
  for (const thread of threadsOf(pid)) {
    // Nanoseconds on a processor, and ready for one.
    const [worked, queued] = textOf(`/proc/${pid}/task/${thread}/schedstat`).split(" ");
    if (queued === undefined) continue;
    queued_ms.set(thread, Number(queued) / 1e6);
    if (thread === String(pid)) worked_ms = Number(worked) / 1e6;
  }
  return { worked_ms, queued_ms };
}

function threadsOf(pid: number | null): readonly string[] {
  try {
    return pid === null ? [] : readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Returns whether the main thread waits for a disk, or somebody stopped the process. */
function isHeld(pid: number | null): boolean {
  const stat = pid === null ? "" : textOf(`/proc/${pid}/task/${pid}/stat`);
  // The name of the process, in parentheses, may hold blanks.
  return /^[DTt]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}

/** Returns the text of a file, which is empty if its process or thread has ended. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
