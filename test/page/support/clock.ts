import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";

import { answered } from "./quiet.ts";

const STEP_MS = 100;
const LONGEST_AHEAD_MS = 2_000;

/**
 * Stops the clock of all pages of a context in which it was installed; from then on only {@link
 * within} advances it. Playwright's clicks wait for frames, which do not come: dispatch events
 * instead.
 */
export async function stopClock(page: Page): Promise<void> {
  // A busy machine may need longer to stop the clock than the distance to the given moment.
  for (let ahead_ms = STEP_MS; ; ahead_ms *= 2) {
    try {
      await page.clock.pauseAt((await page.evaluate(() => Date.now())) + ahead_ms);
      return;
    } catch (error) {
      if (ahead_ms > LONGEST_AHEAD_MS || !String(error).includes("to the past")) throw error;
    }
  }
}

/**
 * Returns whether a condition is met within a length of the page's own time. Timers of the page
 * wait for this clock, and this clock for the answers to the page's requests, so a busy machine
 * changes nothing.
 */
export async function within(page: Page, limit_ms: number, holds: () => Promise<boolean>): Promise<boolean> {
  for (let passed_ms = 0; passed_ms < limit_ms; passed_ms += STEP_MS) {
    await page.clock.runFor(STEP_MS);
    await answered(page);
    for (let look = 0; look < 10; look++) {
      if (await holds()) return true;
      await sleep(STEP_MS / 4);
    }
  }
  return false;
}

/**
 * Presses the keys of one shortcut. The page's clock stands still meanwhile, because the second key
 * has to follow within a time that a busy machine may not keep.
 */
export async function pressInTurn(page: Page, ...keys: readonly string[]): Promise<void> {
  await page.evaluate(() => {
    const now_ms = performance.now();
    performance.now = () => now_ms;
  });
  for (const key of keys) await page.keyboard.press(key);
  await page.evaluate(() => Reflect.deleteProperty(performance, "now"));
}
