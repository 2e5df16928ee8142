import type { IncomingMessage } from "node:http";

import type { Catalog, ReceivingHook } from "../../../catalog/catalog.ts";
import { READY_HOOKS } from "../../../catalog/hook-checks.ts";
import { hookNotFound } from "../../../catalog/hooks.ts";
import { LoggiaError } from "../../../errors.ts";
import { HOST_CLOCK } from "../../../events/clock.ts";
import type { PostClock } from "../../../events/clock.ts";
import { parseLogKey } from "../../../events/event.ts";
import type { LogKey } from "../../../events/event.ts";
import type { RateLimiter } from "../../../ratelimit/rate-limiter.ts";
import type { Peer } from "../../../ratelimit/guesses.ts";
import { quotaOwnerOf } from "../../../ratelimit/quota-owner.ts";
import { authorizeByKey } from "../authorize.ts";
import type { BodyMemory, MemoryShare } from "../body-memory.ts";
import { isSigned, signatureOf } from "./signatures.ts";

/** Size limit of bodies read before they are authenticated. GitHub's have at most 25 MB. */
const UNVERIFIED_MAX_BYTES = 25 * 1024 * 1024;
const BODY_DEADLINE_MS = 20_000;
/** Shorter secrets are considered guessable, because people choose them. */
const UNGUESSABLE_CHARACTERS = 32;

export type AdmitOptions = {
  readonly catalog: Catalog;
  readonly limiter: RateLimiter;
  readonly clock?: PostClock;
  /** Bounds the memory of bodies that are not authenticated yet. */
  readonly unverified: BodyMemory;
};

/** Identity of an admitted request. */
export type Admitted = {
  readonly log: LogKey;
  /** Id of the API key, or a name for the signed hook. */
  readonly id: string;
  /** The configured hook; null for a hook that works without configuration. */
  readonly hook: ReceivingHook | null;
  /** The body, if it was read to verify its signature. */
  readonly sent: Buffer | null;
};

/**
 * Admits a request to a hook: by its signature if the hook has a secret, otherwise by an API key.
 * The error does not reveal whether the log and the hook exist.
 * @param key the request's API key; "" if there is none
 * @throws LoggiaError `unauthorized`, `forbidden`, `hook_not_found`, `too_many_requests`
 */
export async function admitHook(
  request: IncomingMessage,
  { name, logOfPath, key }: { readonly name: string; readonly logOfPath: string | null; readonly key: string },
  peer: Peer,
  options: AdmitOptions,
): Promise<Admitted> {
  const { catalog } = options;
  // If a key suffices without a hook, do not wait for one that was possibly just created.
  const find = async (log: LogKey): Promise<ReceivingHook | null> =>
    key !== "" && READY_HOOKS.has(name) ? catalog.cachedHook(log, name) : await catalog.receivingHook(log, name);
  const log = logOfPath === null ? null : parseLogKey(logOfPath);
  if (log !== null) {
    const hook = await find(log);
    if (hook?.secret !== undefined) return await admitSigned(request, { log, hook }, peer, options);
  }
  if (key === "") throw unsigned();
  const grant = await authorizeByKey(key, logOfPath, peer, options);
  const hook = await find(grant.log);
  if (hook?.secret !== undefined) return await admitSigned(request, { log: grant.log, hook }, peer, options);
  if (hook === null && !READY_HOOKS.has(name)) throw hookNotFound(grant.log, name);
  return { log: grant.log, id: grant.id, hook, sent: null };
}

async function admitSigned(
  request: IncomingMessage,
  { log, hook }: { readonly log: LogKey; readonly hook: ReceivingHook },
  peer: Peer,
  { catalog, limiter, clock = HOST_CLOCK, unverified }: AdmitOptions,
): Promise<Admitted> {
  const { name, signature, secret = "" } = hook;
  const { headers } = request;
  const id = `hook ${name}`;
  const given = signatureOf(signature, headers);
  if (given === "") throw unsigned();
  const isGuessable = secret.length < UNGUESSABLE_CHARACTERS;
  const guess = `${log} ${id} ${given}`;
  if (isGuessable) limiter.beforeKey(peer, guess, () => `${log} ${id}`);
  const share = unverified.enter(peer.address);
  try {
    const sent = await receiveCounted(request, share);
    if (!isSigned(signature, secret, { body: sent, headers }, clock.now())) {
      if (isGuessable) limiter.wrongKey(peer, guess);
      throw unsigned();
    }
    const owner = quotaOwnerOf(catalog, log);
    if (isGuessable) limiter.rightKey(peer, guess, `${log} ${id}`, owner);
    else limiter.countCaller(owner);
    return { log, id, hook, sent };
  } finally {
    share.release();
  }
}

/**
 * Reads the body of an unauthenticated request. Memory is counted as bytes arrive, so a body that
 * is announced but not sent takes none.
 * @throws LoggiaError `bad_body`, `body_too_large`, `too_many_requests`, `overloaded`
 */
async function receiveCounted(request: IncomingMessage, share: MemoryShare): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size_bytes = 0;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new LoggiaError("bad_body", `The body did not arrive within ${BODY_DEADLINE_MS} ms`));
  }, BODY_DEADLINE_MS);
  const arriving = request.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const { done, value } = await Promise.race([arriving.next(), late]);
      if (done === true) return Buffer.concat(chunks, size_bytes);
      size_bytes += (value as Buffer).length;
      if (size_bytes > UNVERIFIED_MAX_BYTES) {
        throw new LoggiaError("body_too_large", `The body of a hook may hold at most ${UNVERIFIED_MAX_BYTES} bytes`);
      }
      share.reserve(size_bytes);
      chunks.push(value as Buffer);
    }
  } catch (error) {
    if (error instanceof LoggiaError) throw error;
    throw new LoggiaError("bad_body", "The connection closed before the body was complete", { cause: error });
  } finally {
    clearTimeout(timer);
    // The rest of the body is left to the code that answers.
    arriving.return?.().catch(() => {});
  }
}

/** Returns the same error for all faults, so that it reveals neither logs nor hooks. */
function unsigned(): LoggiaError {
  return new LoggiaError(
    "unauthorized",
    "This request is not authorized. A hook with a secret needs a valid signature of the body as it was sent, " +
      "at most 5 minutes old if the signature has a time; any other hook needs an API key of its log",
  );
}
