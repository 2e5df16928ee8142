import { createHash } from "node:crypto";

import { type EventId, isEventId } from "../../events/id.ts";
import type { KeyReservation } from "./reservations.ts";

/**
 * A key in the journal: the first 64 bits of a hash of its log, API key and text. Two keys of a day
 * share these once in millions of years; the later one would be refused as used.
 */
export type KeyHash = { readonly high: number; readonly low: number };

/**
 * A claim of a key for a batch. Its first id, which no other claim has, identifies it.
 * `replaces` is the offset of a claim that it succeeds, which was never stored or has expired.
 */
export type Claim = {
  readonly kind: "claim";
  readonly hash: KeyHash;
  readonly replaces: number | null;
  readonly reservation: Omit<KeyReservation, "done">;
};

/**
 * The outcome of claims, by their offsets: "done" if their batches are on the bus, "void" if they
 * were never handed to it.
 */
export type Outcomes = { readonly kind: "done" | "void"; readonly offsets: readonly number[] };

export type KeyRecord = Claim | Outcomes;

const CLAIM = 1;
const DONE = 2;
const VOID = 3;
/** Bytes of a claim before the hash of its body. */
const CLAIM_BYTES = 1 + 8 + 8 + 12 + 8 + 4 + 8 + 8;

/** Returns the hash of a key that is named by a SHA-256 in base64url. */
export function hashOfName(name: string): KeyHash {
  const bytes = Buffer.from(name, "base64url");
  return { high: bytes.readUInt32BE(0), low: bytes.readUInt32BE(4) };
}

/** Returns the SHA-256 of a text, in base64url. */
export function nameOfText(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

export function encodeKeyRecord(record: KeyRecord): Buffer {
  return record.kind === "claim" ? encodeClaim(record) : encodeOutcomes(record);
}

function encodeClaim({ hash, replaces, reservation }: Claim): Buffer {
  const { first, created, count, read_ms, trusted_ms, hash: body } = reservation;
  const value = Buffer.alloc(CLAIM_BYTES + Buffer.byteLength(body));
  let at = value.writeUInt8(CLAIM, 0);
  at = value.writeUInt32BE(hash.high, at);
  at = value.writeUInt32BE(hash.low, at);
  at = value.writeDoubleBE(replaces ?? -1, at);
  at += value.write(first, at, "hex");
  at = value.writeDoubleBE(created, at);
  at = value.writeUInt32BE(count, at);
  at = value.writeDoubleBE(read_ms, at);
  at = value.writeDoubleBE(trusted_ms, at);
  value.write(body, at);
  return value;
}

function encodeOutcomes({ kind, offsets }: Outcomes): Buffer {
  const value = Buffer.alloc(1 + 8 * offsets.length);
  value.writeUInt8(kind === "done" ? DONE : VOID, 0);
  for (const [i, offset] of offsets.entries()) value.writeDoubleBE(offset, 1 + 8 * i);
  return value;
}

/** Decodes a record. Returns null for one that this release does not write. */
export function decodeKeyRecord(value: Buffer): KeyRecord | null {
  const [kind] = value;
  if (kind === CLAIM) return value.length < CLAIM_BYTES ? null : decodeClaim(value);
  if (kind !== DONE && kind !== VOID) return null;
  const count = Math.floor((value.length - 1) / 8);
  const offsets = Array.from({ length: count }, (_, i) => value.readDoubleBE(1 + 8 * i));
  return { kind: kind === DONE ? "done" : "void", offsets };
}

function decodeClaim(value: Buffer): Claim | null {
  const replaces = value.readDoubleBE(9);
  const first = value.toString("hex", 17, 29);
  if (!isEventId(first)) return null;
  return {
    kind: "claim",
    hash: { high: value.readUInt32BE(1), low: value.readUInt32BE(5) },
    replaces: replaces < 0 ? null : replaces,
    reservation: {
      first: first satisfies EventId,
      created: value.readDoubleBE(29),
      count: value.readUInt32BE(37),
      read_ms: value.readDoubleBE(41),
      trusted_ms: value.readDoubleBE(49),
      hash: value.toString("utf8", CLAIM_BYTES),
    },
  };
}
