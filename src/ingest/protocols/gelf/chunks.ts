/** What begins a chunk: magic bytes, 8 of an id, its number, and how many there are. */
const HEADER_BYTES = 12;
const [MAGIC, MAGIC_2] = [0x1e, 0x0f];
const MOST_CHUNKS = 128;
/** How long the chunks of a message may take, as GELF has it. */
const LIFE_MS = 5_000;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_MESSAGES = 10_000;
/** What a message takes besides its bytes. */
const OVERHEAD_BYTES = 512;

type Message = {
  readonly parts: (Buffer | undefined)[];
  missing: number;
  size_bytes: number;
  readonly begun_ms: number;
};

/** Puts messages together that come in chunks, in bounded memory. */
export class Chunks {
  readonly #lost: (messages: number) => void;
  readonly #now: () => number;
  /** By sender and id, in the order in which they began. */
  readonly #messages = new Map<string, Message>();
  #held_bytes = 0;

  /** @param lost called with the number of messages of which chunks were missing, or for which there was no room */
  constructor(lost: (messages: number) => void, now: () => number = () => performance.now()) {
    this.#lost = lost;
    this.#now = now;
  }

  get held_bytes(): number {
    return this.#held_bytes;
  }

  /**
   * The message that a datagram is, or completes; null: chunks are missing, or it is none.
   * @param sender its address and port: chunks of one message come from one socket
   */
  take(datagram: Buffer, sender: string): Buffer | null {
    this.expire();
    if (datagram[0] !== MAGIC || datagram[1] !== MAGIC_2) return datagram;
    const [number = 0, count = 0] = [datagram[10], datagram[11]];
    if (datagram.length < HEADER_BYTES || count === 0 || count > MOST_CHUNKS || number >= count) {
      this.#lost(1);
      return null;
    }
    const part = datagram.subarray(HEADER_BYTES);
    if (count === 1) return part;
    const name = `${sender} ${datagram.toString("hex", 2, 10)}`;
    const message = this.#messages.get(name) ?? this.#begin(name, count);
    // A chunk that came twice, or one of another message under the same id.
    if (message.parts.length !== count || message.parts[number] !== undefined) return null;
    message.parts[number] = part;
    message.missing -= 1;
    message.size_bytes += datagram.length;
    this.#held_bytes += datagram.length;
    if (message.missing > 0) {
      this.#makeRoom();
      return null;
    }
    this.#forget(name, message);
    return Buffer.concat(message.parts as Buffer[]);
  }

  /** Forgets messages whose chunks did not come in time. */
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

  /** The oldest leave first. */
  #makeRoom(): void {
    for (const [name, message] of this.#messages) {
      if (this.#held_bytes <= MOST_BYTES && this.#messages.size <= MOST_MESSAGES) return;
      this.#forget(name, message);
      this.#lost(1);
    }
  }

  #forget(name: string, { size_bytes }: Message): void {
    this.#messages.delete(name);
    this.#held_bytes -= size_bytes;
  }
}
