import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";

import type { Catalog } from "../catalog/catalog.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import type { FieldLimits } from "../events/limits.ts";
import { BATCH_MAX_BYTES, type BatchForm, readBatch } from "./batch.ts";
import type { BatchOutcome } from "./batch-answer.ts";
import type { Gatherer } from "./gatherer.ts";
import type { Once } from "./once.ts";

export type BatchPostOptions = {
  readonly catalog: Catalog;
  readonly gatherer: Gatherer;
  readonly once: Once;
  readonly limits: FieldLimits;
};

const LINES = /^application\/(?:x-ndjson|ndjson|jsonl|x-jsonlines)\s*(?:;|$)/i;
const ARRAY = /^application\/json\s*(?:;|$)/i;
const KEY_MAX_CHARACTERS = 200;

/** The form of batch that a content type announces, or null. */
export function batchFormOf(contentType: string | undefined): BatchForm | null {
  if (contentType === undefined) return null;
  return LINES.test(contentType) ? "lines" : ARRAY.test(contentType) ? "array" : null;
}

/** Whether a body that is announced as JSON is any: clients of old send forms as whatever their library thinks fit. */
export function looksLikeJson(body: Buffer): boolean {
  return /^\uFEFF?\s*[[{]/.test(body.toString("utf8", 0, 64));
}

/** @throws LoggiaError `bad_parameter` */
export function idempotencyKey({ headers }: IncomingMessage): string | null {
  const key = headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key === "string" && key.length > 0 && key.length <= KEY_MAX_CHARACTERS) return key;
  throw new LoggiaError("bad_parameter", `The header Idempotency-Key must hold 1 to ${KEY_MAX_CHARACTERS} characters`);
}

/** Accepts a batch: each event, or the error event in its place. Resolves once all of it is durable. */
export async function postBatch(
  log: LogKey,
  form: BatchForm,
  body: Buffer,
  key: string | null,
  { catalog, gatherer, once, limits }: BatchPostOptions,
): Promise<BatchOutcome> {
  const retentionDays = catalog.log(log)?.retentionDays ?? null;
  const read = (now_ms: number) => readBatch(form, body, limits, { now_ms, retentionDays });
  const read_ms = Date.now();
  const items = await read(read_ms);
  const lines = items.map(({ line }) => line);
  if (key === null) return { first: await gatherer.submitLines(log, lines), items };
  const hash = createHash("sha256").update(form).update(body).digest("base64url");
  const posted = await once.post({ log, key, hash, count: items.length, read_ms }, (ids) =>
    gatherer.submitLines(log, lines, ids),
  );
  // The first answer, which judged the events by its own time.
  return { first: posted.first, items: posted.read_ms === read_ms ? items : await read(posted.read_ms) };
}

/** Lets the sender of a body that nobody wants come to its end, within bounds, so that it reads the answer. */
export async function discardBody(request: IncomingMessage): Promise<void> {
  if (request.complete) return;
  let left_bytes = BATCH_MAX_BYTES;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, DISCARD_MS);
  request
    .on("data", (chunk: Buffer) => {
      left_bytes -= chunk.length;
      if (left_bytes < 0) resolve();
    })
    .on("end", resolve)
    .on("error", () => resolve())
    .on("close", resolve);
  await promise;
  clearTimeout(timer);
}

const DISCARD_MS = 5_000;
