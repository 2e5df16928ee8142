import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { until } from "../support/until.ts";
import type { Figures } from "./chaos.ts";
import type { Load } from "./load.ts";
import type { Verdict } from "./oracle.ts";
import type { Scene } from "./scene.ts";

/**
 * A post must be answered within 5 s; the client, which shares the machine, gets some extra time.
 */
const ANSWER_LIMIT_MS = 5_000 + 1_000;
/** Time within which posts must be accepted again after a fault, without intervention. */
export const BACK_LIMIT_MS = 30_000;

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return 0;
  const sorted = Float64Array.from(values).toSorted();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

/** Figures of posted and stored events. */
export function keptFigures(verdict: Verdict): Figures {
  const { obligations, open, stored } = verdict;
  return { "answered 201": obligations, "answered 5xx or not": open, stored, "lost, double, changed": 0 };
}

/**
 * Asserts that every response was a 201 or a 503, before the deadline. `unanswered`: connections
 * may break too, because processes are killed.
 */
export function assertAnswers(load: Load, options: { unanswered: boolean }): void {
  const allowed = options.unanswered ? [0, 503] : [503];
  const others = [...load.failures].filter(([status]) => !allowed.includes(status));
  assert.deepEqual(others, [], `posts were answered otherwise than 201 or 503; the last said ${load.lastMessage}`);
  const longest_ms = load.longest_ms();
  assert.ok(longest_ms < ANSWER_LIMIT_MS, `a post was answered after ${seconds(longest_ms)}`);
}

export function answerFigures(load: Load): Figures {
  return {
    "503s": load.failures.get(503) ?? 0,
    "slowest 503": seconds(load.slowest.unavailable_ms),
    "slowest 201": seconds(load.slowest.accepted_ms),
  };
}

/**
 * Returns how long `next` took, in milliseconds.
 * @throws AssertionError if that exceeds the time in which the service must recover
 */
export async function measureRecovery_ms(next: Promise<number>, what: string): Promise<number> {
  const late = Symbol();
  const { promise, resolve } = Promise.withResolvers<typeof late>();
  const timer = setTimeout(() => resolve(late), BACK_LIMIT_MS);
  const took_ms = await Promise.race([next, promise]);
  clearTimeout(timer);
  assert.ok(took_ms !== late, `no post was taken in ${seconds(BACK_LIMIT_MS)} after ${what}`);
  return took_ms;
}

/**
 * Returns how far the pipeline has acknowledged, once that is stable for a second: batches in
 * flight may still be acknowledged.
 */
export async function settledOffsets(scene: Pick<Scene, "covered">): Promise<readonly number[]> {
  let covered = await scene.covered();
  const isStill = async (): Promise<boolean> => {
    const before = covered;
    await sleep(1_000);
    covered = await scene.covered();
    return isDeepStrictEqual(covered, before);
  };
  await until(isStill, { what: "acknowledged offsets to stand still" });
  return covered;
}
