import { readFileSync } from "node:fs";
import { uptime } from "node:os";

import type { Elapsed } from "./trusted-clock.ts";

/**
 * A time by the system's boot clock, which starts at boot, advances during suspend and cannot be
 * set.
 */
export type BootTime = { readonly boot: string; readonly uptime_ms: number };

/** Interval of checks for a suspend, and the shortest suspend that is noticed. */
const SUSPEND_CHECK_MS = 1_000;

/**
 * Returns the time by the boot clock, or null on systems without a boot id. On systems other than
 * Linux the boot clock may be derived from the time of day.
 */
export function readBootTime(): BootTime | null {
  if (process.platform !== "linux") return null;
  try {
    return { boot: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(), uptime_ms: uptime() * 1000 };
  } catch {
    return null;
  }
}

/** Creates a clock of `performance.now()` plus the time the machine was suspended since. */
export function createElapsed(): Elapsed {
  const hasBootClock = readBootTime() !== null;
  const start_ms = performance.now();
  const startUptime_ms = uptime() * 1000;
  let checked_ms = start_ms;
  let suspended_ms = 0;
  return (exactly = false) => {
    const now_ms = performance.now();
    if (hasBootClock && (exactly || now_ms - checked_ms >= SUSPEND_CHECK_MS)) {
      checked_ms = now_ms;
      const difference_ms = uptime() * 1000 - startUptime_ms - (now_ms - start_ms);
      // The clocks are not read at the same time, and `uptime` has a resolution of 10 ms.
      if (difference_ms - suspended_ms > SUSPEND_CHECK_MS) suspended_ms = difference_ms;
    }
    return now_ms + suspended_ms;
  };
}
