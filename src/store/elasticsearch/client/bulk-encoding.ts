/** One or two lines of a bulk request, each with a line break. */
export type EncodedOperation = string;

/** Operations of bulk requests as bytes to send: one buffer, and each operation's offset. */
export class BulkOperations {
  readonly #bytes: Buffer;
  /** Offsets of the operations, and the end of the last one. */
  readonly #starts: Uint32Array;

  private constructor(bytes: Buffer, starts: Uint32Array) {
    this.#bytes = bytes;
    this.#starts = starts;
  }

  static of(operations: readonly EncodedOperation[]): BulkOperations {
    const joined = operations.join("");
    const bytes = Buffer.from(joined);
    const isAscii = bytes.length === joined.length;
    const starts = new Uint32Array(operations.length + 1);
    for (const [i, operation] of operations.entries()) {
      starts[i + 1] = starts[i]! + (isAscii ? operation.length : Buffer.byteLength(operation));
    }
    return new BulkOperations(bytes, starts);
  }

  /** Concatenates parts in order. */
  static concat(parts: readonly BulkOperations[]): BulkOperations {
    if (parts.length === 1) return parts[0]!;
    const starts = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 1));
    let count = 0;
    let bytes = 0;
    for (const part of parts) {
      for (let i = 0; i < part.length; i++) starts[count++] = bytes + part.#starts[i]! - part.#starts[0]!;
      bytes += part.size_bytes;
    }
    starts[count] = bytes;
    return new BulkOperations(Buffer.concat(parts.map((part) => part.bytes)), starts);
  }

  get length(): number {
    return this.#starts.length - 1;
  }

  get size_bytes(): number {
    return this.#starts.at(-1)! - this.#starts[0]!;
  }

  /** The bytes to send. */
  get bytes(): Buffer {
    return this.#bytes.subarray(this.#starts[0], this.#starts.at(-1));
  }

  /** Returns the operations from `start` up to before `end`, sharing the buffer. */
  slice(start: number, end: number = this.length): BulkOperations {
    return new BulkOperations(this.#bytes, this.#starts.subarray(start, end + 1));
  }

  /** Returns the operations at the given positions. */
  pick(places: readonly number[]): BulkOperations {
    return places.length === 0
      ? this.slice(0, 0)
      : BulkOperations.concat(places.map((place) => this.slice(place, place + 1)));
  }

  /** Yields runs of at most `most` operations and `maxBytes`; a larger operation is a run of its own. */
  *runs({ most, maxBytes }: { readonly most: number; readonly maxBytes: number }): Generator<BulkOperations> {
    let start = 0;
    for (let end = 1; end <= this.length; end++) {
      const isFull = end - start === most || this.#starts[end + 1]! - this.#starts[start]! > maxBytes;
      if (!isFull && end < this.length) continue;
      yield this.slice(start, end);
      start = end;
    }
  }
}
