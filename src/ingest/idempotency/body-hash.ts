import { createHash } from "node:crypto";

/** Bytes hashed before the event loop gets a turn. */
const HASH_BYTES = 1024 * 1024;

/** Returns a SHA-256 of a text and a body, in base64url, by which a repeated request is recognized. */
export async function hashOfBody(head: string, body: Buffer): Promise<string> {
  const hash = createHash("sha256").update(head);
  for (let at = 0; at < body.length; at += HASH_BYTES) {
    if (at > 0) await new Promise(setImmediate);
    hash.update(body.subarray(at, at + HASH_BYTES));
  }
  return hash.digest("base64url");
}
