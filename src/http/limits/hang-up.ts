import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

import { isFromBrowser } from "../from-browser.ts";

const watched = new WeakSet<Socket>();

/**
 * Closes the connection of a browser once the browser half-closes it: it does not wait for a
 * response then, and the work for it is cancelled. Simple clients (`nc`, HTTP/1.0) may half-close
 * and still wait, and cannot be told from clients that have left.
 */
export function closeWhenBrowserEnds({ socket, headers }: IncomingMessage): void {
  const isPage = headers["x-loggia"] !== undefined || isFromBrowser(headers);
  if (!isPage || watched.has(socket)) return;
  watched.add(socket);
  socket.once("end", () => socket.destroy());
}
