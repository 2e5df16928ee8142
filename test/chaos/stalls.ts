import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { send } from "./http.ts";

type Stall = { readonly from_ms: number; readonly to_ms: number };

/** A process: its base address, `http://host:port`, and its id while it runs. */
export type Watched = { readonly url: string; readonly pid: () => number | null };

const EVERY_MS = 200;
/** Shorter delays are part of any answer. */
const SHORTEST_MS = 500;

/**
 * Records when processes stood still because the machine did: a request that needs no engine was
 * late, although the thread that answers it worked for less than half of that time. A process that
 * holds its own thread does not count.
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
      const worked_ms = threadTime_ms(id);
      const from_ms = performance.now() + EVERY_MS;
      await sleep(EVERY_MS);
      await send({ url: `${url}/health/live` }).catch(() => null);
      const to_ms = performance.now();
      const length_ms = to_ms - from_ms;
      if (length_ms < SHORTEST_MS || id !== pid()) continue;
      if (threadTime_ms(id) - worked_ms < length_ms / 2) stalls.push({ from_ms, to_ms });
    }
  }

  /** Returns how long the process at an address stood still between two moments. */
  within_ms(url: string, start_ms: number, end_ms: number): number {
    const parts = (this.#stalls.get(url) ?? []).map(
      ({ from_ms, to_ms }) => Math.min(to_ms, end_ms) - Math.max(from_ms, start_ms),
    );
    return parts.reduce((sum, part) => sum + Math.max(0, part), 0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#watching;
  }
}

/** Returns the processor time of the main thread of a process; 0 if it is gone. */
function threadTime_ms(pid: number | null): number {
  if (pid === null) return 0;
  try {
    const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8");
    // The name of the process, in parentheses, may hold blanks.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // In hundredths of a second, as Linux shows them to all programs.
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return 0;
  }
}
