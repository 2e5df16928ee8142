/** Size of a chunk's header: magic bytes, eight bytes of id, sequence number, and count. */
const HEADER_BYTES = 12;
const [MAGIC, MAGIC_2] = [0x1e, 0x0f];
const MAX_CHUNKS = 128;
/** Time within which all chunks of a message must arrive, as specified by GELF. */
const LIFE_MS = 5_000;
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_MESSAGES = 10_000;
/** Memory of a message, and of each of its chunks, besides their bytes. */
const OVERHEAD_BYTES = 2_048;
const CHUNK_OVERHEAD_BYTES = 256;

type Message = {
  readonly parts: (Buffer | undefined)[];
  missing: number;
  size_bytes: number;
  readonly begun_ms: number;
};

/** Assembles chunked messages in bounded memory. */
export class Chunks {
  readonly #lost: (messages: number) => void;
  readonly #now: () => number;
  /** Incomplete messages by sender and id, oldest first. */
  readonly #messages = new Map<string, Message>();
  #held_bytes = 0;

  /** @param lost called with the number of messages dropped as incomplete or for lack of memory */
  constructor(lost: (messages: number) => void, now: () => number = () => performance.now()) {
    this.#lost = lost;
    this.#now = now;
  }

  get held_bytes(): number {
    return this.#held_bytes;
  }

  /**
   * Returns the message that a datagram contains or completes; null if it is incomplete or
   * malformed.
   * @param sender address and port: all chunks of a message come from one socket
   */
  take(datagram: Buffer, sender: string): Buffer | null {
    this.expire();
    if (datagram[0] !== MAGIC || datagram[1] !== MAGIC_2) return datagram;
    const [number = 0, count = 0] = [datagram[10], datagram[11]];
    if (datagram.length < HEADER_BYTES || count === 0 || count > MAX_CHUNKS || number >= count) {
      this.#lost(1);
      return null;
    }
    const part = datagram.subarray(HEADER_BYTES);
    if (count === 1) return part;
    const name = `${sender} ${datagram.toString("hex", 2, 10)}`;
    const message = this.#messages.get(name) ?? this.#begin(name, count);
    // A duplicate chunk, or a chunk of another message with the same id.
    if (message.parts.length !== count || message.parts[number] !== undefined) return null;
    message.parts[number] = part;
    message.missing -= 1;
    message.size_bytes += datagram.length + CHUNK_OVERHEAD_BYTES;
    this.#held_bytes += datagram.length + CHUNK_OVERHEAD_BYTES;
    if (message.missing > 0) {
      this.#makeRoom();
      return null;
    }
    this.#forget(name, message);
    return Buffer.concat(message.parts as Buffer[]);
  }

  /** Drops messages whose chunks did not arrive in time. */
  expire(): void {
    const before_ms = this.#now() - LIFE_MS;
    let lost = 0;
    for (const [name, message] of this.#messages) {
      if (message.begun_ms > before_ms) break;
      this.#forget(name, message);
      lost += 1;
    }
    if (lost > 0) this.#lost(lost);
  }

  #begin(name: string, count: number): Message {
    const parts = Array.from({ length: count }, () => undefined);
    const message = { parts, missing: count, size_bytes: OVERHEAD_BYTES, begun_ms: this.#now() };
    this.#messages.set(name, message);
    this.#held_bytes += OVERHEAD_BYTES;
    return message;
  }

  /** Drops the oldest messages until the limits are met. */
  #makeRoom(): void {
    for (const [name, message] of this.#messages) {
      if (this.#held_bytes <= MAX_BYTES && this.#messages.size <= MAX_MESSAGES) return;
      this.#forget(name, message);
      this.#lost(1);
    }
  }

  #forget(name: string, { size_bytes }: Message): void {
    this.#messages.delete(name);
    this.#held_bytes -= size_bytes;
  }
}
