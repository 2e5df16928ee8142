import type { Search } from "../state/search.ts";

/** Escape in the bar of the query, with nothing left to close: cancels what runs, else leads to the list. */
export function cancelOrLeave(search: Search): void {
  if (isRunning(search)) search.cancel();
  else (document.querySelector<HTMLElement>("#list .row[tabindex='0']") ?? document.getElementById("main"))?.focus();
}

/** A run that is over can't be cancelled: bars and fields that are drawn later still ask for their part of it. */
function isRunning({ run, isCancelled }: Search): boolean {
  return run.peek().reading.peek() > 0 && !isCancelled.peek();
}
