import { closeSync, openSync, readSync, rmSync, unlinkSync, write } from "node:fs";
import { promisify } from "node:util";

import { yieldToRequests } from "../../../scheduling/cooperative.ts";
import { tokenHash, FACTORS } from "./token-filter.ts";
import type { TokenFilter, TokenSet } from "./token-filter.ts";

/** Parts of a filter. A token's bit lies in the part that the upper bits of its hash name. */
const PARTS = 1_024;
const HASHES_A_PART = 2 ** 32 / PARTS;
/** Parts copied between two turns of the event loop, and written at a time. */
const PARTS_A_WRITE = 16;

const writeAt = promisify(write);

/**
 * Filters in a file of their own, for those that do not fit into memory. The file holds the first
 * part of all filters, then the second part of all, and so on: whether a token is in any of them is
 * answered by one read for each of its bits.
 *
 * The file has no name, so that nothing is left of it when the process ends. Filters are durable
 * only in DuckDB.
 */
export class FilterFile implements Disposable {
  readonly #fd: number;
  readonly #bits: Float64Array;
  /** Bytes of one filter in a part. */
  readonly #pitch: number;
  /** The parts read since the last {@link release}, by number. */
  readonly #read = new Map<number, Buffer>();
  #closed = false;

  private constructor(fd: number, filters: readonly TokenFilter[]) {
    this.#fd = fd;
    this.#bits = Float64Array.from(filters, ({ bits }) => bits);
    // A part may begin and end within a byte.
    this.#pitch = Math.ceil(this.#bits.reduce((most, bits) => Math.max(most, bits), 0) / PARTS / 8) + 2;
  }

  /**
   * Writes filters to a new file.
   * @param path where the file is made and unlinked at once; replaces what a killed process left
   * @throws Error of the file system, such as `ENOSPC`
   */
  static async write(path: string, filters: readonly TokenFilter[]): Promise<FilterFile> {
    rmSync(path, { force: true });
    const fd = openSync(path, "wx+", 0o600);
    try {
      unlinkSync(path);
      const file = new FilterFile(fd, filters);
      for (let part = 0; part < PARTS; part += PARTS_A_WRITE) await file.#writeParts(part, filters);
      return file;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  async #writeParts(first: number, filters: readonly TokenFilter[]): Promise<void> {
    const size = this.#pitch * filters.length;
    const parts = Buffer.alloc(PARTS_A_WRITE * size);
    for (let i = 0; i < PARTS_A_WRITE; i++) {
      await yieldToRequests();
      for (const [place, { bits, bytes }] of filters.entries()) {
        const from = firstByteOf(first + i, bits);
        parts.set(bytes.subarray(from, from + this.#pitch), i * size + place * this.#pitch);
      }
    }
    for (let done = 0; done < parts.length;) {
      done += (await writeAt(this.#fd, parts, done, parts.length - done, first * size + done)).bytesWritten;
    }
  }

  /** Returns the filter at this place of those written. */
  filter(place: number): TokenSet {
    return { mayHold: (token) => FACTORS.every((factor) => this.#isSet(place, tokenHash(token, factor))) };
  }

  #isSet(place: number, hash: number): boolean {
    const bits = this.#bits[place]!;
    const part = Math.floor(hash / HASHES_A_PART);
    const bit = Math.floor(hash * (bits / 2 ** 32));
    const byte = (bit >>> 3) - firstByteOf(part, bits);
    return (this.#part(part)[place * this.#pitch + byte]! & (1 << (bit & 7))) !== 0;
  }

  /** Reads a part, mostly from the system's cache of pages, at once: all of a query are a few MB. */
  #part(number: number): Buffer {
    const known = this.#read.get(number);
    if (known !== undefined) return known;
    // The system gives the number of a closed descriptor to the next file.
    if (this.#closed) throw new Error("A file of filters is closed");
    const part = Buffer.allocUnsafe(this.#pitch * this.#bits.length);
    for (let done = 0; done < part.length;) {
      const read = readSync(this.#fd, part, done, part.length - done, number * part.length + done);
      if (read === 0) throw new Error("A file of filters is shorter than it was written");
      done += read;
    }
    this.#read.set(number, part);
    return part;
  }

  /** Frees what was read. Called once a query has asked its filters. */
  release(): void {
    this.#read.clear();
  }

  /** Afterwards the filters throw when they are asked. */
  [Symbol.dispose](): void {
    this.#closed = true;
    this.#read.clear();
    closeSync(this.#fd);
  }
}

function firstByteOf(part: number, bits: number): number {
  return Math.floor(part * HASHES_A_PART * (bits / 2 ** 32)) >>> 3;
}
