import type { IncomingMessage, ServerResponse } from "node:http";

import { LoggiaError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import { type FieldLimits, largestForm_bytes } from "../../events/limits.ts";
import { memoryNetwork } from "../../ratelimit/address.ts";
import type { Peer } from "../../auth/requests/guesses.ts";
import { quotaOwner } from "../../ratelimit/quota-owner.ts";
import { announcedSize, readBody, receiveBody } from "../../http/body.ts";
import { type BodyShare, SMALL_BODY_BYTES } from "../../http/body-budget.ts";
import { parseForm } from "../../http/form.ts";
import { goneSignal } from "../../http/when-closed.ts";
import type { IngestMemory } from "../kit/ingest-memory.ts";
import { authorizePost, type AuthorizeOptions } from "../../auth/requests/posting-key.ts";
import { keyBesideForm } from "../../auth/requests/request-key.ts";
import { BATCH_MAX_BYTES, type BatchForm } from "./batch.ts";
import type { BatchOutcome } from "./batch-answer.ts";
import { type BatchPostOptions, idempotencyKey, keepsClaimedTimes, orDiscard, postBatch } from "./batch-post.ts";

/** Bodies up to this size are expected to arrive as fast as a usual form. */
const SMALL_POST_BYTES = 128 * 1024;
/** Pairs of a form, many times those of an event. */
const MAX_PAIRS = 2_000;
const AMPERSAND = 0x26;
export const BODY_DEADLINE_MS = 10_000;
const BATCH_DEADLINE_MS = 30_000;

export type JsonPostOptions = BatchPostOptions & AuthorizeOptions & { readonly memory: IngestMemory };

/** A post with a JSON content type. */
export type JsonPost =
  | { readonly kind: "batch"; readonly outcome: BatchOutcome }
  | { readonly kind: "event"; readonly outcome: BatchOutcome }
  /** Old clients send forms with whatever content type their library sets. */
  | { readonly kind: "form"; readonly form: UnverifiedForm };

/** A form whose key is not verified yet. */
export type UnverifiedForm = {
  readonly fields: URLSearchParams;
  /** Memory to release once the key is verified, which may take as long as a look-up of it. */
  readonly share: BodyShare | null;
};

const LINES = /^application\/(?:x-ndjson|ndjson|jsonl|x-jsonlines)\s*(?:;|$)/i;
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** Returns what a content type announces: an event per line, JSON, or neither. */
export function announcedJsonType(contentType: string | undefined): "lines" | "json" | null {
  if (contentType === undefined) return null;
  return LINES.test(contentType) ? "lines" : JSON_TYPE.test(contentType) ? "json" : null;
}

/** Returns whether the body is an array of events or one event; null if it is neither. */
export function detectJsonForm(body: Buffer): "array" | "object" | null {
  let at = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
  while (isBlank(body[at])) at += 1;
  return body[at] === 0x5b ? "array" : body[at] === 0x7b ? "object" : null;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Returns the type by the content type, or by the query: `sendBeacon` cannot set a JSON type. */
function typeOf(contentType: string | undefined, query: URLSearchParams): "lines" | "json" | null {
  return query.get("body") === "ndjson" ? "lines" : announcedJsonType(contentType);
}

/** Handles a request with a JSON content type; null if it has another. */
export async function takeJson(
  request: IncomingMessage,
  peer: Peer,
  path: string,
  query: URLSearchParams,
  response: ServerResponse,
  options: JsonPostOptions,
): Promise<JsonPost | null> {
  const type = request.method === "POST" ? typeOf(request.headers["content-type"], query) : null;
  if (type === null) return null;
  const secret = keyBesideForm(query, request.headers);
  if (secret === "" && type === "json") {
    // JSON has its key outside the body. Without one, this can only be a form, of a form's size.
    const { body, share } = await readForm(request, peer, options, { gzip: true });
    if (detectJsonForm(body) === null) return { kind: "form", form: { fields: parseForm(body), share } };
    share.release();
  }
  // Before the body is read or counted: both are reserved for authorized clients.
  const { id: apiKey, log } = await orDiscard(request, () => authorizePost(path, secret, peer, options));
  return await takeBody({ request, response, type, secret, apiKey, log }, options);
}

type Authorized = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly type: "lines" | "json";
  readonly secret: string;
  /** Id of the API key. */
  readonly apiKey: string;
  readonly log: LogKey;
};

async function takeBody(
  { request, response, type, secret, apiKey, log }: Authorized,
  options: JsonPostOptions,
): Promise<JsonPost> {
  const owner = quotaOwner(options.catalog, log);
  const share = options.memory.bodies.enter(owner);
  // A small JSON body may be a single event, which arrives as fast as a form.
  const isLarge = type === "lines" || !isSmall(request);
  const gone = isSmall(request) ? undefined : goneSignal(response);
  try {
    const announced_bytes = announcedSize(request);
    if (request.headers["content-encoding"] !== undefined) share.claim(2 * BATCH_MAX_BYTES + SMALL_BODY_BYTES);
    if (announced_bytes <= BATCH_MAX_BYTES) await orDiscard(request, () => share.hold(announced_bytes, gone));
    const deadline_ms = isLarge ? BATCH_DEADLINE_MS : BODY_DEADLINE_MS;
    const given = { limit_bytes: BATCH_MAX_BYTES, deadline_ms, gzip: true, share, gone };
    const received = await receiveBody(request, given);
    share.claim(0);
    const form: BatchForm | null = type === "lines" ? "lines" : detectJsonForm(received.body);
    if (form === null) {
      return { kind: "form", form: { fields: formFields(received.body, secret, options.limits), share: null } };
    }
    const keepsClaims = keepsClaimedTimes(request);
    const sender = { log, owner, apiKey, key: idempotencyKey(request), secret, keepsClaims, gone };
    const outcome = await postBatch(sender, form, received, options);
    return { kind: form === "object" ? "event" : "batch", outcome };
  } finally {
    share.release();
  }
}

/**
 * Reads a body before its key is known, of a form's size. Its memory counts for the network of its
 * sender until the caller releases it.
 */
export async function readForm(
  request: IncomingMessage,
  peer: Peer,
  { memory, limits }: Pick<JsonPostOptions, "memory" | "limits">,
  { gzip = false }: { readonly gzip?: boolean } = {},
): Promise<{ readonly body: Buffer; readonly share: BodyShare }> {
  const share = memory.unverified.enter(memoryNetwork(peer.address));
  const limit_bytes = largestForm_bytes(limits);
  try {
    const body = await readBody(request, { limit_bytes, deadline_ms: BODY_DEADLINE_MS, gzip, share });
    requireFewPairs(body);
    return { body, share };
  } catch (error) {
    share.release();
    throw error;
  }
}

function isSmall(request: IncomingMessage): boolean {
  const { headers } = request;
  const isWhole = headers["transfer-encoding"] === undefined && headers["content-encoding"] === undefined;
  return isWhole && announcedSize(request) <= SMALL_POST_BYTES;
}

/** Reads a form that was sent with a JSON content type. */
function formFields(body: Buffer, secret: string, limits: FieldLimits): URLSearchParams {
  const most_bytes = largestForm_bytes(limits);
  if (body.length > most_bytes) {
    throw new LoggiaError("body_too_large", `A form may hold at most ${most_bytes} bytes`);
  }
  requireFewPairs(body);
  const fields = parseForm(body);
  if (!fields.has("apikey")) fields.set("apikey", secret);
  return fields;
}

/** Refuses a form of so many pairs that parsing it would take long. */
function requireFewPairs(body: Buffer): void {
  if (hasMorePairs(body, MAX_PAIRS))
    throw new LoggiaError("body_too_large", `A form may hold at most ${MAX_PAIRS} fields`);
}

/** Whether a form has more pairs than a number. */
export function hasMorePairs(body: Buffer, most: number): boolean {
  let pairs = 1;
  for (let at = body.indexOf(AMPERSAND); at !== -1 && pairs <= most; at = body.indexOf(AMPERSAND, at + 1)) pairs += 1;
  return pairs > most;
}
