import { argon2, randomBytes, timingSafeEqual } from "node:crypto";

import { FairQueue } from "./fair-queue.ts";
import type { Requester } from "./fair-queue.ts";

/** Argon2id parameters of RFC 9106 and OWASP for a server: 19 MiB, 2 passes, 1 lane. */
const PARAMETERS = { memory_kib: 19_456, passes: 2, parallelism: 1 } as const;
const SALT_BYTES = 16;
const TAG_BYTES = 32;

/** Concurrent hashes. Each blocks one of Node's four pool threads, which files and DNS need too. */
const CONCURRENCY = 2;
/** Longest queue, for each of two queues. */
const MAX_QUEUED = 32;
const MAX_QUEUED_PER_ACCOUNT = 24;
/** Refusal delay, long enough for the early check of an account with few failures. */
const REFUSAL_DELAY_MS = 3_000;

/**
 * PHC string format, `$argon2id$v=19$m=19456,t=2,p=1$salt$tag`. A hash carries its parameters, so
 * they can change between releases.
 */
const STORED = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** The default requester: the service itself. */
const SERVICE: Requester = Object.freeze({ address: "", account: "", isKnown: true });

/** Hashes passwords, with bounded concurrency that is shared fairly among requesters. */
export type PasswordHasher = {
  /** @throws LoggiaError `overloaded` if too many jobs are queued */
  hash(password: string, requester?: Requester): Promise<string>;
  /**
   * Whether `stored` is a hash of `password`. Compares in constant time.
   * @throws LoggiaError `overloaded` if too many jobs are queued; errors of
   * {@link Requester.recheck}
   */
  verify(password: string, stored: string, requester?: Requester): Promise<boolean>;
};

export function createPasswordHasher(): PasswordHasher {
  const queue = new FairQueue({
    concurrency: CONCURRENCY,
    maxQueued: MAX_QUEUED,
    maxQueuedPerAccount: MAX_QUEUED_PER_ACCOUNT,
    refusalDelay_ms: REFUSAL_DELAY_MS,
    decoy: () => derive("", randomBytes(SALT_BYTES), TAG_BYTES, PARAMETERS),
  });
  return {
    async hash(password, requester = SERVICE) {
      const salt = randomBytes(SALT_BYTES);
      const tag = await queue.run(requester, () => derive(password, salt, TAG_BYTES, PARAMETERS));
      return encode(salt, tag);
    },
    async verify(password, stored, requester = SERVICE) {
      const [, memory, passes, parallelism, salt, tag] = STORED.exec(stored) ?? [];
      if (salt === undefined || tag === undefined) throw new Error("a stored password hash has an unknown form");
      const expected = Buffer.from(tag, "base64");
      const parameters = { memory_kib: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
      const check = async (): Promise<boolean> =>
        timingSafeEqual(await derive(password, Buffer.from(salt, "base64"), expected.length, parameters), expected);
      return await queue.run(requester, check, (isRight) => isRight);
    },
  };
}

/** Returns a hash that no password matches, to verify at normal cost if there is no account. */
export function unmatchableHash(): string {
  return encode(randomBytes(SALT_BYTES), randomBytes(TAG_BYTES));
}

function encode(salt: Buffer, tag: Buffer): string {
  const { memory_kib, passes, parallelism } = PARAMETERS;
  return `$argon2id$v=19$m=${memory_kib},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString("base64").replace(/={1,2}$/, "");
}

function derive(
  password: string,
  salt: Buffer,
  length: number,
  parameters: { memory_kib: number; passes: number; parallelism: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    argon2(
      "argon2id",
      {
        // NFC, as keyboards compose the same characters differently.
        message: password.normalize("NFC"),
        nonce: salt,
        parallelism: parameters.parallelism,
        tagLength: length,
        memory: parameters.memory_kib,
        passes: parameters.passes,
      },
      (error, tag) => (error === null ? resolve(tag) : reject(error)),
    );
  });
}
