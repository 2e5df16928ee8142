import type { Search } from "./search.ts";

/** Handles the last Escape in the query bar: cancels the run, else focuses the list. */
export function cancelOrLeave(search: Search): void {
  if (isRunning(search)) search.cancel();
  else (document.querySelector<HTMLElement>("#list .row[tabindex='0']") ?? document.getElementById("main"))?.focus();
}

/** Reports whether a run is active. A finished one is not cancelled: later views still use it. */
function isRunning({ run, isCancelled }: Search): boolean {
  return run.peek().reading.peek() > 0 && !isCancelled.peek();
}
