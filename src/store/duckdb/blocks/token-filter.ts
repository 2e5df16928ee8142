import { crc32 } from "node:zlib";

import type { TokenSet } from "./token-set.ts";

/** Raise it with each change of what tokens are, or of how they are kept: filters of another format are built anew. */
const FORMAT = 1;
/** Format, checksum and number of bits. */
const HEADER_BYTES = 12;
/** So one token in six that is not there seems to be: what is asked for has several. */
const BITS_A_TOKEN = 4;
const LEAST_BITS = 64;
const MOST_BITS = 2 ** 31;

/** A Bloom filter: says of a token that it is not there, or that it may be. */
export class TokenFilter {
  readonly #bits: number;
  readonly #bytes: Uint8Array;

  private constructor(bits: number, bytes: Uint8Array) {
    this.#bits = bits;
    this.#bytes = bytes;
  }

  static of(tokens: TokenSet): TokenFilter {
    const bits = Math.min(MOST_BITS, Math.max(LEAST_BITS, tokens.size * BITS_A_TOKEN));
    const bytes = new Uint8Array(Math.ceil(bits / 8));
    const note = (place: number): void => {
      bytes[place >>> 3]! |= 1 << (place & 7);
    };
    tokens.each((token) => {
      note(firstPlace(token, bits));
      note(secondPlace(token, bits));
    });
    return new TokenFilter(bits, bytes);
  }

  mayHold(token: number): boolean {
    // As the set keeps it.
    const kept = token >>> 0 || 1;
    return this.#has(firstPlace(kept, this.#bits)) && this.#has(secondPlace(kept, this.#bits));
  }

  #has(place: number): boolean {
    return (this.#bytes[place >>> 3]! & (1 << (place & 7))) !== 0;
  }

  encode(): Buffer {
    const encoded = Buffer.alloc(HEADER_BYTES + this.#bytes.length);
    encoded.writeUInt32LE(FORMAT, 0);
    encoded.writeUInt32LE(this.#bits, 8);
    encoded.set(this.#bytes, HEADER_BYTES);
    encoded.writeUInt32LE(crc32(encoded.subarray(8)), 4);
    return encoded;
  }

  /** null for what {@link encode} of this release did not make, or what was damaged. */
  static decode(encoded: Uint8Array): TokenFilter | null {
    if (encoded.length < HEADER_BYTES) return null;
    const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength);
    const bits = view.getUint32(8, true);
    const isWhole =
      view.getUint32(0, true) === FORMAT &&
      view.getUint32(4, true) === crc32(encoded.subarray(8)) &&
      encoded.length === HEADER_BYTES + Math.ceil(bits / 8) &&
      bits >= LEAST_BITS;
    return isWhole ? new TokenFilter(bits, encoded.slice(HEADER_BYTES)) : null;
  }
}

function firstPlace(token: number, bits: number): number {
  return placeOf(Math.imul(token ^ (token >>> 16), 0x85ebca6b), bits);
}

function secondPlace(token: number, bits: number): number {
  return placeOf(Math.imul(token ^ (token >>> 13), 0xc2b2ae35) ^ 0x5bd1e995, bits);
}

function placeOf(hash: number, bits: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return Math.floor((((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32) * bits);
}
