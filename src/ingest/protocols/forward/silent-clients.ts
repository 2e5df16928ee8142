import type { Logger } from "pino";

import { PacedCount } from "../../../http/limits/paced-count.ts";
import type { TcpConnection } from "../../listeners/tcp.ts";

const SILENCE_MS = 5_000;
const INTERVAL_MS = 60_000;
const MESSAGE =
  "Fluent forward clients connect and send nothing. If they have a shared key they wait for HELO, " +
  "which this listener sends only with a shared_key of its own; their connections were half-closed";

/**
 * Ends connections of clients that may wait for HELO, which a listener without a shared key does
 * not send. Only the direction to the client is closed: what a client that was merely idle sends
 * later is still stored.
 */
export class SilentClients {
  readonly #log: Pick<Logger, "warn">;
  readonly #silence_ms: number;
  readonly #count = new PacedCount(INTERVAL_MS);

  constructor(log: Pick<Logger, "warn">, silence_ms = SILENCE_MS) {
    this.#log = log;
    this.#silence_ms = silence_ms;
  }

  /** Ends a connection that stays silent. Returns a function to call with its first bytes. */
  watch({ socket, peer }: Pick<TcpConnection, "socket" | "peer">): () => void {
    const timer = setTimeout(() => {
      socket.end();
      this.#report(peer.address);
    }, this.#silence_ms).unref();
    const stop = (): void => clearTimeout(timer);
    socket.once("end", stop).once("close", stop);
    return stop;
  }

  /** Logs the first client at once, then at most a line a minute. */
  #report(address: string): void {
    const clients = this.#count.add();
    if (clients !== null) this.#log.warn({ address, clients }, MESSAGE);
  }
}
