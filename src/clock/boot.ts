import { readFileSync } from "node:fs";
import { uptime } from "node:os";

import type { Elapsed } from "./trusted-clock.ts";

/**
 * A moment by the clock of the running system, which starts at its boot, runs on while it sleeps,
 * and which nobody can set.
 */
export type BootMoment = { readonly boot: string; readonly uptime_ms: number };

const LOOK_EVERY_MS = 1_000;

/**
 * null where the system names no boot: elsewhere than on Linux, that clock may be derived from the
 * time of day.
 */
export function bootMoment(): BootMoment | null {
  if (process.platform !== "linux") return null;
  try {
    return { boot: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(), uptime_ms: uptime() * 1000 };
  } catch {
    return null;
  }
}

/** `performance.now()`, with the time added that the machine has slept since. */
export function createElapsed(): Elapsed {
  const knowsSleep = bootMoment() !== null;
  const start_ms = performance.now();
  const startUptime_ms = uptime() * 1000;
  let looked_ms = start_ms;
  let slept_ms = 0;
  return (exactly = false) => {
    const now_ms = performance.now();
    if (knowsSleep && (exactly || now_ms - looked_ms >= LOOK_EVERY_MS)) {
      looked_ms = now_ms;
      const over_ms = uptime() * 1000 - startUptime_ms - (now_ms - start_ms);
      // Both clocks are read one after the other, and one of them in hundredths of a second.
      if (over_ms - slept_ms > LOOK_EVERY_MS) slept_ms = over_ms;
    }
    return now_ms + slept_ms;
  };
}
