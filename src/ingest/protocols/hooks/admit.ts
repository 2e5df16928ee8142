import type { IncomingMessage } from "node:http";

import type { ReceivingHook } from "../../../catalog/catalog.ts";
import { READY_HOOKS } from "../../../catalog/hook-checks.ts";
import { hookNotFound } from "../../../catalog/hooks.ts";
import { LoggiaError } from "../../../errors.ts";
import { HOST_CLOCK } from "../../../events/clock.ts";
import { parseLogKey } from "../../../events/event.ts";
import type { LogKey } from "../../../events/event.ts";
import { receiveSent } from "../../../http/body.ts";
import { memoryNetwork } from "../../../ratelimit/address.ts";
import type { Peer } from "../../../auth/requests/guesses.ts";
import { quotaOwner } from "../../../ratelimit/quota-owner.ts";
import type { Admitted, AdmitOptions, GivenKey } from "../../kit/admission.ts";
import { authorizeByKey } from "../../../auth/requests/posting-key.ts";
import { hasSignature, hookVerifier } from "./decoy.ts";
import { isSigned, signatureHeader, type Signed } from "./signatures.ts";

/** Size limit of bodies read before they are authenticated. GitHub's have at most 25 MB. */
const UNVERIFIED_MAX_BYTES = 25 * 1024 * 1024;
const BODY_DEADLINE_MS = 20_000;
/** Least rate of a stranger's body, in bytes per second. */
const LEAST_BYTES_S = 64 * 1024;
/** Shorter secrets are considered guessable, because people choose them. */
const UNGUESSABLE_CHARACTERS = 32;

/** A request to a hook, by its name. */
type HookRequest = GivenKey & { readonly name: string };

/**
 * Admits a request to a hook: by its signature if the hook has a secret, otherwise by an API key.
 * Neither the error nor what happens before it reveals whether the log and the hook exist, or how
 * the hook is set up: a request with a signature is read and verified in any case.
 * @throws LoggiaError `unauthorized`, `forbidden`, `hook_not_found`, `too_many_requests`
 */
export async function admitHook(
  request: IncomingMessage,
  given: HookRequest,
  peer: Peer,
  options: AdmitOptions,
): Promise<Admitted> {
  const { name, logOfPath, key } = given;
  const log = logOfPath === null ? null : parseLogKey(logOfPath);
  if (log === null || !hasSignature(request.headers)) return await admitByKey(request, given, peer, options);
  let refusal: unknown = null;
  if (key !== "" && options.catalog.cachedHook(log, name)?.secret === undefined) {
    try {
      return await admitByKey(request, given, peer, options);
    } catch (error) {
      refusal = error;
    }
  }
  // A wrong key counts as one, also beside the wrong signature of a hook that exists.
  const checkKey = async (): Promise<void> => {
    if (key !== "" && refusal === null) await authorizeByKey(key, logOfPath, peer, options);
  };
  const admitted = await admitSigned(request, { log, name }, peer, options).catch(async (error: unknown) => {
    await checkKey().catch(() => {});
    throw error;
  });
  if (admitted !== null) return admitted;
  await checkKey();
  throw refusal ?? unsigned();
}

async function admitByKey(
  request: IncomingMessage,
  { name, logOfPath, key }: HookRequest,
  peer: Peer,
  options: AdmitOptions,
): Promise<Admitted> {
  const { catalog } = options;
  if (key === "") throw unsigned();
  const grant = await authorizeByKey(key, logOfPath, peer, options);
  // If a key suffices without a hook, do not wait for one that was possibly just created.
  const hook = READY_HOOKS.has(name)
    ? catalog.cachedHook(grant.log, name)
    : await catalog.receivingHook(grant.log, name);
  if (hook?.secret !== undefined) {
    const isSent = hasSignature(request.headers);
    const admitted = isSent ? await admitSigned(request, { log: grant.log, name }, peer, options) : null;
    if (admitted === null) throw unsigned();
    return admitted;
  }
  if (hook === null && !READY_HOOKS.has(name)) throw hookNotFound(grant.log, name);
  return { log: grant.log, id: grant.id, hook, received: null };
}

/** Reads and verifies a request with a signature; null if it is wrong, or there is no such hook. */
async function admitSigned(
  request: IncomingMessage,
  { log, name }: { readonly log: LogKey; readonly name: string },
  peer: Peer,
  options: AdmitOptions,
): Promise<Admitted | null> {
  const { catalog, memory, knownSenders } = options;
  const known = catalog.cachedHook(log, name);
  const network = memoryNetwork(peer.address);
  const isKnown = known?.secret !== undefined && knownSenders.has(`${log} ${idOfHook(known)}`, network);
  const share = isKnown ? memory.proven.enter(quotaOwner(catalog, log)) : memory.unverified.enter(network);
  let admitted: Admitted | null = null;
  try {
    const sent = await receiveSent(request, {
      limit_bytes: UNVERIFIED_MAX_BYTES,
      deadline_ms: BODY_DEADLINE_MS,
      share,
      ...(!isKnown && { least_bytes_s: LEAST_BYTES_S }),
    });
    const signed = { body: sent, headers: request.headers };
    const admit = (hook: ReceivingHook | null): Admitted | null =>
      isRight(hook, log, signed, peer, options) ? { log, id: idOfHook(hook!), hook, received: { sent, share } } : null;
    admitted = admit(known);
    if (admitted !== null) return admitted;
    // Another process may have created or changed it a moment ago.
    const newest = await catalog.refreshedHook(log, name);
    if (newest !== known) admitted = admit(newest);
    return admitted;
  } finally {
    if (admitted === null) share.release();
  }
}

/** Returns whether a request is signed by the hook. Counts wrong signatures of a chosen secret. */
function isRight(
  hook: ReceivingHook | null,
  log: LogKey,
  signed: Signed,
  peer: Peer,
  { catalog, limiter, guesses, clock = HOST_CLOCK, knownSenders }: AdmitOptions,
): boolean {
  const { signature, secret, isDecoy } = hookVerifier(hook, signed.headers);
  const isValid = isSigned(signature, secret, signed, clock.now());
  if (hook === null || isDecoy) return false;
  const id = `${log} ${idOfHook(hook)}`;
  if (secret.length < UNGUESSABLE_CHARACTERS) {
    const guess = `${id} ${signatureHeader(signature, signed.headers)}`;
    // Beyond the limit a right one is refused as a wrong one is, and in the same words.
    if (!guesses.mayUseSignature(peer, guess, id)) return false;
    if (!isValid) guesses.wrongSignature(peer, guess);
    else guesses.rightSignature(peer, guess, id);
  }
  if (isValid) {
    limiter.countCaller(quotaOwner(catalog, log));
    knownSenders.add(id, memoryNetwork(peer.address));
  }
  return isValid;
}

function idOfHook({ name }: ReceivingHook): string {
  return `hook ${name}`;
}

/** Returns the same error for all faults, so that it reveals neither logs nor hooks. */
function unsigned(): LoggiaError {
  return new LoggiaError(
    "unauthorized",
    "This request is not authorized. A hook with a secret needs a valid signature of the body as it was sent, " +
      "at most 5 minutes old if the signature has a time; any other hook needs an API key of its log",
  );
}
