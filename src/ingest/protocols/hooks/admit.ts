import type { IncomingMessage } from "node:http";

import type { Catalog, ReceivingHook } from "../../../catalog/catalog.ts";
import { READY_HOOKS } from "../../../catalog/hook-checks.ts";
import { hookNotFound } from "../../../catalog/hooks.ts";
import { LoggiaError } from "../../../errors.ts";
import { HOST_CLOCK } from "../../../events/clock.ts";
import type { PostClock } from "../../../events/clock.ts";
import { parseLogKey } from "../../../events/event.ts";
import type { LogKey } from "../../../events/event.ts";
import { receiveSent } from "../../../http/body.ts";
import type { BodyShare } from "../../../http/body-budget.ts";
import { memoryNetworkOf } from "../../../ratelimit/address.ts";
import type { RateLimiter } from "../../../ratelimit/rate-limiter.ts";
import type { Peer } from "../../../ratelimit/guesses.ts";
import { quotaOwnerOf } from "../../../ratelimit/quota-owner.ts";
import type { IngestMemory } from "../../ingest-memory.ts";
import { authorizeByKey } from "../authorize.ts";
import type { KnownSenders } from "./known-senders.ts";
import { isSigned, signatureOf } from "./signatures.ts";

/** Size limit of bodies read before they are authenticated. GitHub's have at most 25 MB. */
const UNVERIFIED_MAX_BYTES = 25 * 1024 * 1024;
const BODY_DEADLINE_MS = 20_000;
/** Least rate of a stranger's body, in bytes per second. */
const LEAST_BYTES_S = 64 * 1024;
/** Shorter secrets are considered guessable, because people choose them. */
const UNGUESSABLE_CHARACTERS = 32;

export type AdmitOptions = {
  readonly catalog: Catalog;
  readonly limiter: RateLimiter;
  readonly clock?: PostClock;
  /** Memory of bodies that are not authenticated yet. */
  readonly memory: Pick<IngestMemory, "unverified" | "proven">;
  readonly knownSenders: KnownSenders;
};

/** Identity of an admitted request. */
export type Admitted = {
  readonly log: LogKey;
  /** Id of the API key, or a name for the signed hook. */
  readonly id: string;
  /** The configured hook; null for a hook that works without configuration. */
  readonly hook: ReceivingHook | null;
  /** The body with its memory, if it was read to verify its signature. The caller releases it. */
  readonly received: { readonly sent: Buffer; readonly share: BodyShare } | null;
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
  return { log: grant.log, id: grant.id, hook, received: null };
}

async function admitSigned(
  request: IncomingMessage,
  { log, hook }: { readonly log: LogKey; readonly hook: ReceivingHook },
  peer: Peer,
  { catalog, limiter, clock = HOST_CLOCK, memory, knownSenders }: AdmitOptions,
): Promise<Admitted> {
  const { name, signature, secret = "" } = hook;
  const { headers } = request;
  const id = `hook ${name}`;
  const given = signatureOf(signature, headers);
  if (given === "") throw unsigned();
  const isGuessable = secret.length < UNGUESSABLE_CHARACTERS;
  const guessed = `${log} ${id}`;
  const guess = `${guessed} ${given}`;
  if (isGuessable) limiter.beforeKey(peer, guess, () => guessed);
  const owner = quotaOwnerOf(catalog, log);
  const network = memoryNetworkOf(peer.address);
  const isKnown = knownSenders.has(guessed, network);
  const share = isKnown ? memory.proven.enter(owner) : memory.unverified.enter(network);
  let isAdmitted = false;
  try {
    const sent = await receiveSent(request, {
      limit_bytes: UNVERIFIED_MAX_BYTES,
      deadline_ms: BODY_DEADLINE_MS,
      share,
      ...(!isKnown && { least_bytes_s: LEAST_BYTES_S }),
    });
    if (!isSigned(signature, secret, { body: sent, headers }, clock.now())) {
      if (isGuessable) limiter.wrongKey(peer, guess);
      throw unsigned();
    }
    if (isGuessable) limiter.rightKey(peer, guess, guessed, owner);
    else limiter.countCaller(owner);
    knownSenders.add(guessed, network);
    isAdmitted = true;
    return { log, id, hook, received: { sent, share } };
  } finally {
    if (!isAdmitted) share.release();
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
