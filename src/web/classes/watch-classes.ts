import { effect } from "@preact/signals";

import type { App } from "../app.ts";

/** Whoever comes back to the page reads the classes anew, but not more often than this. */
const FRESH_MS = 5_000;
/** A process of a cluster knows a class of another one after a second; later ones are for slow links. */
const ATTEMPTS_MS = [0, 2_000, 10_000];

/**
 * Learns of classes that are made or changed elsewhere, in another tab or by the API: when an event
 * names one that is not known, and when the reader comes back to the page.
 * @returns what ends that
 */
export function watchClasses({ classes }: Pick<App, "classes">): () => void {
  let read_ms = Date.now();
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const read = (): void => {
    read_ms = Date.now();
    // What is shown stays; a failure that lasts is said by whatever else is asked.
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
