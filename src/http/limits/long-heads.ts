import type { IncomingMessage } from "node:http";

import { needsOwnTurn, ownTurn } from "../../scheduling/yielding.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

/**
 * Handles a request; one whose target and headers are long, in a turn of the event loop of its own.
 * Strangers may send these too, and reading thousands of parameters takes milliseconds.
 */
export function handleInTurn(
  request: Pick<IncomingMessage, "url" | "rawHeaders">,
  scheduler: Scheduler,
  handle: () => void,
): void {
  if (needsOwnTurn(headLength(request))) void ownTurn(scheduler.heads).then(handle);
  else handle();
}

function headLength({ url = "", rawHeaders }: Pick<IncomingMessage, "url" | "rawHeaders">): number {
  let length = url.length;
  for (const text of rawHeaders) length += text.length;
  return length;
}
