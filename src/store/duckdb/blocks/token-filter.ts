import { crc32 } from "node:zlib";

import type { TokenList } from "./token-list.ts";

/** Version of tokens and encoding. Increase it with each change; other filters are rebuilt. */
const FORMAT = 2;
/** Format, checksum and number of bits. */
const HEADER_BYTES = 12;
/** Gives one false positive in about eleven tokens; a query usually checks several tokens. */
const BITS_A_TOKEN = 5;
/** Multipliers; the upper bits of the products give a token its three bits. Odd and unrelated. */
export const FACTORS = [0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f] as const;
const LEAST_BITS = 64;
/**
 * Size of the table that estimates the number of distinct tokens. It is accurate for as many as a
 * block has.
 */
const COUNTED_BITS = 2 ** 20;

/** A set of tokens without false negatives. */
export type TokenSet = { mayHold(token: number): boolean };

/** A Bloom filter of tokens. */
export class TokenFilter implements TokenSet {
  readonly bits: number;
  readonly bytes: Uint8Array;

  private constructor(bits: number, bytes: Uint8Array) {
    this.bits = bits;
    this.bytes = bytes;
  }

  static of(...lists: readonly TokenList[]): TokenFilter {
    const bits = Math.max(LEAST_BITS, countDistinct(lists) * BITS_A_TOKEN);
    const bytes = new Uint8Array(Math.ceil(bits / 8));
    for (const { tokens } of lists) {
      for (let i = 0; i < tokens.length; i++) {
        const token = tokens[i]!;
        set(bytes, placeOf(token, FACTORS[0], bits));
        set(bytes, placeOf(token, FACTORS[1], bits));
        set(bytes, placeOf(token, FACTORS[2], bits));
      }
    }
    return new TokenFilter(bits, bytes);
  }

  /** Size in memory, in bytes. */
  get size(): number {
    return this.bytes.length;
  }

  mayHold(token: number): boolean {
    return FACTORS.every((factor) => isSet(this.bytes, placeOf(token, factor, this.bits)));
  }

  encode(): Buffer {
    const encoded = Buffer.alloc(HEADER_BYTES + this.bytes.length);
    encoded.writeUInt32LE(FORMAT, 0);
    encoded.writeUInt32LE(this.bits, 8);
    encoded.set(this.bytes, HEADER_BYTES);
    encoded.writeUInt32LE(crc32(encoded.subarray(8)), 4);
    return encoded;
  }

  /** Returns null for data that is damaged or not of this version. */
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

/** Estimates the number of distinct tokens by linear counting. */
function countDistinct(lists: readonly TokenList[]): number {
  const table = new Uint8Array(COUNTED_BITS / 8);
  let taken = 0;
  for (const { tokens } of lists) {
    for (let i = 0; i < tokens.length; i++) {
      const place = tokens[i]! & (COUNTED_BITS - 1);
      taken += isSet(table, place) ? 0 : 1;
      set(table, place);
    }
  }
  // A full table only gives a lower bound.
  const free = Math.max(1, COUNTED_BITS - taken);
  return Math.ceil(COUNTED_BITS * Math.log(COUNTED_BITS / free));
}

/** Returns the hash of 32 bits that gives a token one of its bits. Tokens are hashes already. */
export function tokenHash(token: number, factor: number): number {
  return Math.imul(token, factor) >>> 0;
}

/** Returns the position of one of a token's bits. */
function placeOf(token: number, factor: number, bits: number): number {
  return Math.floor(tokenHash(token, factor) * (bits / 2 ** 32));
}

function set(bits: Uint8Array, place: number): void {
  bits[place >>> 3]! |= 1 << (place & 7);
}

function isSet(bits: Uint8Array, place: number): boolean {
  return (bits[place >>> 3]! & (1 << (place & 7))) !== 0;
}
