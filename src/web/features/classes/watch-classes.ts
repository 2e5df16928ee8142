import { effect } from "@preact/signals";

import type { App } from "../../state/app.ts";

/** Least time between reads when the reader returns to the page, in milliseconds. */
const FRESH_MS = 5_000;
/**
 * Delays of reads after an unknown class. Processes of a cluster share classes within a second;
 * later reads are for slow links.
 */
const ATTEMPTS_MS = [0, 2_000, 10_000];

/**
 * Follows changes of classes in other tabs or through the API: reads them when an event names an
 * unknown class and when the reader returns to the page.
 * @returns a function that stops it
 */
export function watchClasses({ classes }: Pick<App, "classes">): () => void {
  let read_ms = Date.now();
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const read = (): void => {
    read_ms = Date.now();
    // The classes shown stay; other requests report a lasting failure.
    classes.read().catch(() => undefined);
  };
  const readAfter = (wait_ms: number): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      read();
    }, wait_ms);
    timers.add(timer);
  };
  const look = (): void => {
    if (document.visibilityState === "visible" && Date.now() - read_ms > FRESH_MS) read();
  };
  const stop = effect(() => {
    if (classes.unknown.value > 0) for (const wait_ms of ATTEMPTS_MS) readAfter(wait_ms);
  });
  document.addEventListener("visibilitychange", look);
  window.addEventListener("focus", look);
  return () => {
    stop();
    for (const timer of timers) clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
    window.removeEventListener("focus", look);
  };
}
