import type { IncomingMessage } from "node:http";

import { LoggiaError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import type { Peer } from "../../ratelimit/guesses.ts";
import { quotaOwnerOf } from "../../ratelimit/quota-owner.ts";
import { announcedSize, readBody, receiveBody } from "../../http/body.ts";
import { parseForm } from "../../http/form.ts";
import { authorize, type AuthorizeOptions, keyBesideForm } from "./api-key.ts";
import { BATCH_MAX_BYTES, type BatchForm } from "./batch.ts";
import type { BatchOutcome } from "./batch-answer.ts";
import { type BatchPostOptions, idempotencyKey, orDiscard, postBatch } from "./batch-post.ts";

/**
 * Size limit of a form, in bytes. As an error event it fits one record of the bus, whatever its
 * characters.
 */
export const POST_BODY_MAX_BYTES = 128 * 1024;
export const BODY_DEADLINE_MS = 10_000;
const BATCH_DEADLINE_MS = 30_000;
/** Maximum number of batches read and stored at once. It bounds their memory. */
const MAX_BATCHES = 128;
/** Maximum number of these per quota owner, which keeps room for the producers of others. */
const MAX_BATCHES_OF_OWNER = 64;

/** Numbers of batches being read and stored. */
export type BatchCounts = { all: number; readonly ofOwner: Map<string, number> };

export type JsonPostOptions = BatchPostOptions & AuthorizeOptions & { readonly batchCounts: BatchCounts };

/** A post with a JSON content type. */
export type JsonPost =
  | { readonly kind: "batch"; readonly outcome: BatchOutcome }
  | { readonly kind: "event"; readonly outcome: BatchOutcome }
  /** Old clients send forms with whatever content type their library sets. */
  | { readonly kind: "form"; readonly fields: URLSearchParams };

const LINES = /^application\/(?:x-ndjson|ndjson|jsonl|x-jsonlines)\s*(?:;|$)/i;
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** Returns what a content type announces: an event per line, JSON, or neither. */
export function jsonTypeOf(contentType: string | undefined): "lines" | "json" | null {
  if (contentType === undefined) return null;
  return LINES.test(contentType) ? "lines" : JSON_TYPE.test(contentType) ? "json" : null;
}

/** Returns whether the body is an array of events or one event; null if it is neither. */
export function jsonFormOf(body: Buffer): "array" | "object" | null {
  let at = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
  while (isBlank(body[at])) at += 1;
  return body[at] === 0x5b ? "array" : body[at] === 0x7b ? "object" : null;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Returns the type by the content type, or by the query: `sendBeacon` cannot set a JSON type. */
function typeOf(contentType: string | undefined, query: URLSearchParams): "lines" | "json" | null {
  return query.get("body") === "ndjson" ? "lines" : jsonTypeOf(contentType);
}

/** Handles a request with a JSON content type; null if it has another. */
export async function takeJson(
  request: IncomingMessage,
  peer: Peer,
  path: string,
  query: URLSearchParams,
  options: JsonPostOptions,
): Promise<JsonPost | null> {
  const type = request.method === "POST" ? typeOf(request.headers["content-type"], query) : null;
  if (type === null) return null;
  const secret = keyBesideForm(query, request.headers);
  if (secret === "" && type === "json") {
    // JSON has its key outside the body. Without one, this can only be a form, of a form's size.
    const body = await readBody(request, {
      limit_bytes: POST_BODY_MAX_BYTES,
      deadline_ms: BODY_DEADLINE_MS,
      gzip: true,
    });
    if (jsonFormOf(body) === null) return { kind: "form", fields: parseForm(body) };
  }
  // Before the body is read or counted: both are reserved for authorized clients.
  const { id: apiKey, log } = await orDiscard(request, () => authorize(path, secret, peer, options));
  return await takeBody({ request, type, secret, apiKey, log }, options);
}

type Authorized = {
  readonly request: IncomingMessage;
  readonly type: "lines" | "json";
  readonly secret: string;
  /** Id of the API key. */
  readonly apiKey: string;
  readonly log: LogKey;
};

async function takeBody(
  { request, type, secret, apiKey, log }: Authorized,
  options: JsonPostOptions,
): Promise<JsonPost> {
  // A small JSON body may be a single event, which needs no more memory than a form.
  const needsRoom = type === "lines" || !isSmall(request);
  const enter = () => enterBatch(quotaOwnerOf(options.catalog, log), options.batchCounts);
  let release = needsRoom ? await orDiscard(request, enter) : null;
  try {
    const deadline_ms = needsRoom ? BATCH_DEADLINE_MS : BODY_DEADLINE_MS;
    const received = await receiveBody(request, { limit_bytes: BATCH_MAX_BYTES, deadline_ms, gzip: true });
    const form: BatchForm | null = type === "lines" ? "lines" : jsonFormOf(received.body);
    if (form === null) return { kind: "form", fields: readForm(received.body, secret) };
    if (form === "array") release ??= enter();
    const sender = { log, apiKey, key: idempotencyKey(request), secret };
    const outcome = await postBatch(sender, form, received, options);
    return { kind: form === "object" ? "event" : "batch", outcome };
  } finally {
    release?.();
  }
}

function isSmall(request: IncomingMessage): boolean {
  const { headers } = request;
  const isWhole = headers["transfer-encoding"] === undefined && headers["content-encoding"] === undefined;
  return isWhole && announcedSize(request) <= POST_BODY_MAX_BYTES;
}

/** Reads a form that was sent with a JSON content type. */
function readForm(body: Buffer, secret: string): URLSearchParams {
  if (body.length > POST_BODY_MAX_BYTES) {
    throw new LoggiaError("body_too_large", `A form may hold at most ${POST_BODY_MAX_BYTES} bytes`);
  }
  const fields = parseForm(body);
  if (!fields.has("apikey")) fields.set("apikey", secret);
  return fields;
}

/**
 * Counts a batch, and returns the function that releases it.
 * @throws LoggiaError `too_many_requests`, `overloaded`
 */
function enterBatch(owner: string, batchCounts: BatchCounts): () => void {
  const own = batchCounts.ofOwner.get(owner) ?? 0;
  if (own >= MAX_BATCHES_OF_OWNER) {
    const message = `The owner of this log has ${own} batches in progress; wait for some to end before sending more`;
    throw new LoggiaError("too_many_requests", message, { retryAfter_s: 1 });
  }
  if (batchCounts.all >= MAX_BATCHES) {
    throw new LoggiaError("overloaded", "Too many batches are being read and stored; try again shortly");
  }
  batchCounts.all += 1;
  batchCounts.ofOwner.set(owner, own + 1);
  return () => {
    batchCounts.all -= 1;
    const left = batchCounts.ofOwner.get(owner)! - 1;
    if (left === 0) batchCounts.ofOwner.delete(owner);
    else batchCounts.ofOwner.set(owner, left);
  };
}
