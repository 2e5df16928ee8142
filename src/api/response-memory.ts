import type { Reservation } from "../ratelimit/budget.ts";
import type { RateLimiter } from "../ratelimit/rate-limiter.ts";

type Limiter = Pick<RateLimiter, "reserveResponse" | "reserveExport">;

/**
 * Memory budget of one response. It is taken before the store is queried, resized to the actual
 * result, and released when the client has read the response or disconnected.
 */
export class ResponseMemory {
  readonly #limiter: Limiter;
  readonly #quotaOwner: string;
  readonly #gone: AbortSignal | undefined;
  #taken: Reservation | null = null;
  #size_bytes = 0;
  /** What is taken besides the response itself. */
  #during_bytes = 0;
  readonly #others: Pick<Reservation, "release">[] = [];

  /** @param gone aborts when the client disconnects */
  constructor(limiter: Limiter, quotaOwner: string, gone?: AbortSignal) {
    this.#gone = gone;
    this.#limiter = limiter;
    this.#quotaOwner = quotaOwner;
  }

  /** Takes memory. Must be called once. @throws LoggiaError `too_many_requests`, `overloaded` */
  async take(size_bytes: number): Promise<void> {
    this.#taken = await this.#limiter.reserveResponse(this.#quotaOwner, size_bytes, this.#gone);
    this.#size_bytes = size_bytes;
  }

  /**
   * Takes memory for an export. Must be called once.
   * @throws LoggiaError `too_many_requests`, `overloaded`
   */
  async takeForExport(size_bytes: number): Promise<void> {
    const share = await this.#limiter.reserveExport(this.#quotaOwner, size_bytes, this.#gone);
    this.releaseWith(share);
    await this.take(size_bytes);
  }

  /**
   * Changes the size. @throws LoggiaError `too_many_requests`, `overloaded` if it grows and does
   * not fit
   */
  resize(size_bytes: number): void {
    this.#taken?.resize(size_bytes + this.#during_bytes);
    this.#size_bytes = size_bytes;
  }

  /**
   * Takes further memory, without waiting, while `work` runs. Must follow {@link take}.
   * @throws LoggiaError `too_many_requests`, `overloaded` if it does not fit
   */
  async during<T>(size_bytes: number, work: () => Promise<T>): Promise<T> {
    this.#taken?.resize(this.#size_bytes + this.#during_bytes + size_bytes);
    this.#during_bytes += size_bytes;
    try {
      return await work();
    } finally {
      this.#during_bytes -= size_bytes;
      this.#taken?.resize(this.#size_bytes + this.#during_bytes);
    }
  }

  /** Releases another resource together with the response. */
  releaseWith(other: Pick<Reservation, "release">): void {
    this.#others.push(other);
  }

  release(): void {
    this.#taken?.release();
    for (const other of this.#others.splice(0)) other.release();
  }
}
