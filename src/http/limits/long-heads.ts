import type { IncomingMessage } from "node:http";

import { DECODING, Yielder } from "../../scheduling/yielding.ts";

/** Length of target and headers that is handled in well under a millisecond. */
const SHORT_LENGTH = 4 * 1024;

/**
 * Handles a request; one whose target and headers are long, in a turn of the event loop of its own.
 * Strangers may send these too, and reading thousands of parameters takes milliseconds.
 */
export function handleInTurn(request: Pick<IncomingMessage, "url" | "rawHeaders">, handle: () => void): void {
  if (headLength(request) <= SHORT_LENGTH) handle();
  else void new Yielder(undefined, DECODING).turn().then(handle);
}

function headLength({ url = "", rawHeaders }: Pick<IncomingMessage, "url" | "rawHeaders">): number {
  let length = url.length;
  for (const text of rawHeaders) length += text.length;
  return length;
}
