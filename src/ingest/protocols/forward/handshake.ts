import { encode } from "@msgpack/msgpack";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { hostname } from "node:os";

import { LoggiaError } from "../../../errors.ts";
import { decodeRaw } from "../../kit/msgpack.ts";

const NONCE_BYTES = 16;
const LONGEST = 1_024;

/** Handshake of Fluent forward. Each side proves knowledge of the shared key without sending it. */
export class Handshake {
  readonly #key: string;
  readonly #nonce = randomBytes(NONCE_BYTES);

  constructor(key: string) {
    this.#key = key;
  }

  /** Returns the first message of the service. */
  hello(): Uint8Array {
    return encode(["HELO", { nonce: this.#nonce, auth: "", keepalive: true }]);
  }

  /**
   * Checks the client's PING. Returns the response, which may be a refusal.
   * @throws LoggiaError `bad_body` if it is malformed, `unauthorized` if it is not a PING
   */
  answer(bytes: Uint8Array): { readonly isRight: boolean; readonly pong: Uint8Array; readonly digest: string } {
    // Fluent Bit sends its salt, any bytes, as a text.
    const ping = decodeRaw(bytes);
    if (!Array.isArray(ping) || ping.length < 4) throw notPing();
    const [word, client, salt, digest] = (ping as unknown[]).map(bytesOf);
    if (String(word) !== "PING" || client === undefined || salt === undefined || digest === undefined) throw notPing();
    const wanted = Buffer.from(this.#digest(salt, client));
    const isRight = digest.length === wanted.length && timingSafeEqual(digest, wanted);
    const name = hostname();
    const pong = isRight
      ? ["PONG", true, "", name, this.#digest(salt, Buffer.from(name))]
      : ["PONG", false, "shared_key mismatch", "", ""];
    return { isRight, pong: encode(pong), digest: String(digest) };
  }

  #digest(salt: Buffer, name: Buffer): string {
    return createHash("sha512").update(salt).update(name).update(this.#nonce).update(this.#key).digest("hex");
  }
}

function bytesOf(value: unknown): Buffer | undefined {
  const bytes =
    typeof value === "string" ? Buffer.from(value) : value instanceof Uint8Array ? Buffer.from(value) : null;
  return bytes === null || bytes.length > LONGEST ? undefined : bytes;
}

function notPing(): LoggiaError {
  return new LoggiaError(
    "unauthorized",
    "A Fluent forward client did not answer with PING, which the shared key requires",
  );
}
