import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

import { isFromBrowser } from "../browser-guard.ts";

const watched = new WeakSet<Socket>();

/**
 * Closes the connection of a browser as soon as that says that it sends no more: it waits for no
 * answer then, and what is under way for it is given up. Simple clients may say so and still wait
 * (`nc`, HTTP/1.0), and nothing tells those that wait from those that have left.
 */
export function closeWithBrowser({ socket, headers }: IncomingMessage): void {
  const isPage = headers["x-loggia"] !== undefined || isFromBrowser(headers);
  if (!isPage || watched.has(socket)) return;
  watched.add(socket);
  socket.once("end", () => socket.destroy());
}
