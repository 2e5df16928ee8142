import type { Readable } from "node:stream";

import { LoggiaError } from "../errors.ts";
import { BodyBuffer } from "./body-buffer.ts";
import type { BodyShare } from "./body-budget.ts";

export type CollectOptions = {
  /** Largest size accepted. */
  readonly limit_bytes: number;
  /** Size that the source announces; 0 if it announces none. */
  readonly announced_bytes?: number;
  /** Size up to which a body beyond the limit is read and dropped. Default: the limit */
  readonly discard_bytes?: number;
  /** Longest time until the source ends. */
  readonly deadline_ms?: number;
  /** Least bytes per second, on average, after {@link GRACE_S}. */
  readonly least_bytes_s?: number;
  /** Memory of the body, counted as it arrives. */
  readonly share?: BodyShare | undefined;
  /** Bytes of the share that are held besides. */
  readonly besides_bytes?: number;
  /** Largest part of the body that its source holds too. */
  readonly window_bytes?: number;
  /** Fires when nobody waits for the body any more. */
  readonly gone?: AbortSignal | undefined;
  readonly tooLarge: () => LoggiaError;
  /** Returns the error for a source that fails or ends early. */
  readonly broken: (cause: unknown) => LoggiaError;
};

/** Seconds before a body has to arrive at a rate. */
export const GRACE_S = 5;
const CHECK_MS = 1_000;

/**
 * Collects the bytes of a stream within its memory. While there is no room the stream is not read.
 * @throws LoggiaError `bad_body` if it is late, `too_many_requests`, `overloaded`, and those of the
 *   options
 */
export function collect(source: Readable, options: CollectOptions): Promise<Buffer> {
  return new Collector(source, options).collected;
}

class Collector {
  readonly collected: Promise<Buffer>;
  readonly #source: Readable;
  readonly #options: CollectOptions;
  readonly #resolve: (body: Buffer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #buffer: BodyBuffer;
  readonly #timers: NodeJS.Timeout[] = [];
  /** Seconds so far, without those in which this process stalled. */
  #passed_s = 0;
  #received_bytes = 0;
  #isWaiting = false;
  #isSettled = false;

  constructor(source: Readable, options: CollectOptions) {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    [this.collected, this.#resolve, this.#reject] = [promise, resolve, reject];
    [this.#source, this.#options] = [source, options];
    this.#buffer = new BodyBuffer(options.limit_bytes);
    const { announced_bytes = 0, limit_bytes, deadline_ms, least_bytes_s, share } = options;
    if (share !== undefined && announced_bytes === 0) {
      const { besides_bytes = 0, window_bytes = 0 } = options;
      share.claim(Math.max(share.claimed_bytes, besides_bytes + limit_bytes + Math.min(window_bytes, limit_bytes)));
    }
    const isReserved = share?.reserves !== false && announced_bytes > 0 && announced_bytes <= limit_bytes;
    if (isReserved) this.#buffer.announce(announced_bytes);
    if (deadline_ms !== undefined) this.#timers.push(setTimeout(() => this.#onLate(), deadline_ms));
    if (least_bytes_s !== undefined) this.#timers.push(setInterval(() => this.#checkRate(least_bytes_s), CHECK_MS));
    if (share !== undefined) share.onEvicted = (error) => this.#fail(error);
    source.on("data", this.#onData).on("end", this.#onEnd).on("error", this.#onBroken).on("close", this.#onClose);
  }

  readonly #onData = (chunk: Buffer): void => {
    const { limit_bytes, discard_bytes = limit_bytes, tooLarge, share } = this.#options;
    const { besides_bytes = 0, window_bytes = 0 } = this.#options;
    this.#received_bytes += chunk.length;
    if (this.#received_bytes > limit_bytes) {
      this.#buffer.clear();
      share?.tryHold(besides_bytes);
      if (this.#received_bytes > discard_bytes) this.#fail(tooLarge());
      return;
    }
    const capacity_bytes = this.#buffer.capacityWith(chunk.length);
    const held_bytes = besides_bytes + capacity_bytes + Math.min(window_bytes, capacity_bytes);
    if (share === undefined || held_bytes <= share.held_bytes || share.tryHold(held_bytes)) this.#buffer.append(chunk);
    else this.#appendOnceRoom(chunk, share.hold(held_bytes, this.#options.gone));
  };

  #appendOnceRoom(chunk: Buffer, room: Promise<void>): void {
    this.#source.pause();
    this.#isWaiting = true;
    const append = (): void => {
      this.#isWaiting = false;
      if (this.#isSettled) return;
      this.#buffer.append(chunk);
      this.#source.resume();
    };
    room.then(append, (error: unknown) => this.#fail(error));
  }

  readonly #onEnd = (): void => {
    const { limit_bytes, tooLarge, share, besides_bytes = 0 } = this.#options;
    if (this.#received_bytes > limit_bytes) return this.#fail(tooLarge());
    this.#settle();
    // Unused capacity was never written, so the system has not provided it.
    share?.tryHold(besides_bytes + this.#received_bytes);
    this.#resolve(this.#buffer.bytes);
  };

  readonly #onBroken = (cause: unknown): void => this.#fail(this.#options.broken(cause));
  readonly #onClose = (): void => this.#onBroken(undefined);

  #onLate(): void {
    const { limit_bytes, deadline_ms, tooLarge } = this.#options;
    if (this.#received_bytes > limit_bytes) return this.#fail(tooLarge());
    if (this.#isWaiting) return this.#fail(new LoggiaError("overloaded", "There is no memory for the body; try again"));
    this.#fail(new LoggiaError("bad_body", `The body did not arrive within ${deadline_ms} ms`));
  }

  #checkRate(least_bytes_s: number): void {
    this.#passed_s += CHECK_MS / 1_000;
    const wanted_bytes = least_bytes_s * (this.#passed_s - GRACE_S);
    if (this.#isWaiting || this.#received_bytes >= wanted_bytes) return;
    this.#fail(new LoggiaError("bad_body", `The body must arrive at ${least_bytes_s} bytes per second or faster`));
  }

  #settle(): void {
    this.#isSettled = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const { share } = this.#options;
    if (share !== undefined) share.onEvicted = null;
    const source = this.#source;
    source.off("data", this.#onData).off("end", this.#onEnd).off("error", this.#onBroken).off("close", this.#onClose);
  }

  #fail(error: unknown): void {
    if (this.#isSettled) return;
    this.#settle();
    this.#buffer.clear();
    // Later errors can be ignored, but without a listener they would end the process.
    this.#source.on("error", () => {});
    this.#source.pause();
    this.#reject(error);
  }
}
