import type { IncomingMessage } from "node:http";

import type { Catalog } from "../../catalog/catalog.ts";
import { LoggiaError } from "../../errors.ts";
import { HOST_CLOCK } from "../../events/clock.ts";
import type { PostClock } from "../../events/clock.ts";
import type { LogKey } from "../../events/event.ts";
import type { FieldLimits } from "../../events/limits.ts";
import type { OpenLines } from "../../events/lines.ts";
import { BATCH_MAX_BYTES, type BatchBody, type BatchForm, type BatchTurn, readBatch } from "./batch.ts";
import type { BatchOutcome } from "./batch-answer.ts";
import type { WriteCoalescer } from "../append/write-coalescer.ts";
import { postTimesBy } from "../append/created.ts";
import type { PostTimes } from "../append/created.ts";
import { hashOfBody } from "../idempotency/body-hash.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import type { IngestMemory } from "../kit/ingest-memory.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

export type BatchPostOptions = {
  readonly catalog: Catalog;
  readonly coalescer: WriteCoalescer;
  readonly idempotency: Idempotency;
  readonly limits: FieldLimits;
  /** Default: the host's clock */
  readonly clock?: PostClock | undefined;
  readonly memory: Pick<IngestMemory, "batchTurns">;
  /** Reader of the lines of batches. Default: `scanLines` */
  readonly openLines?: OpenLines | undefined;
  readonly scheduler: Scheduler;
};

const KEY_MAX_CHARACTERS = 200;

/** @throws LoggiaError `bad_parameter` */
export function idempotencyKey({ headers }: IncomingMessage): string | null {
  const key = headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key === "string" && key.length > 0 && key.length <= KEY_MAX_CHARACTERS) return key;
  throw new LoggiaError("bad_parameter", `The header Idempotency-Key must have 1 to ${KEY_MAX_CHARACTERS} characters`);
}

/**
 * Returns whether a request asks to keep times that are not valid as `created`. Shippers do, whose
 * lines nobody can correct.
 */
export function keepsClaimedTimes({ headers }: IncomingMessage): boolean {
  return headers["x-loggia-created"] === "claimed";
}

/** The producer of a batch, and its `Idempotency-Key`. */
export type BatchSender = {
  readonly log: LogKey;
  /** Quota owner of the log. */
  readonly owner: string;
  /** Id of the API key. */
  readonly apiKey: string;
  readonly key: string | null;
  /** Fires when the client has disconnected. */
  readonly gone: AbortSignal | undefined;
  /** The API key itself, which error events must not hold. */
  readonly secret: string;
  /** See {@link CreatedRange}. */
  readonly keepsClaims: boolean;
};

/** Stores a batch: each event, or an error event in its place. Resolves once all are durable. */
export async function postBatch(
  { log, owner, apiKey, key, secret, keepsClaims, gone }: BatchSender,
  form: BatchForm,
  given: BatchBody,
  { catalog, coalescer, idempotency, limits, clock = HOST_CLOCK, memory, openLines, scheduler }: BatchPostOptions,
): Promise<BatchOutcome> {
  const retentionDays = catalog.log(log)?.retentionDays ?? null;
  const turn: BatchTurn = (work) => memory.batchTurns.run(owner, work, { gone });
  const read = (at: PostTimes) => {
    const range = { ...at, retentionDays, keepsClaims };
    return readBatch(form, given, { limits, range, secret, openLines, scheduler }, turn);
  };
  const at = postTimesBy(clock);
  const batch = await read(at);
  const { lines } = batch;
  if (key === null) return { ...batch, first: await coalescer.submitLines(log, lines) };
  const hash = await hashOfBody(form, given.body);
  const posted = await idempotency.post({ log, apiKey, key, hash, count: lines.length, ...at }, (ids) =>
    coalescer.submitLines(log, lines, ids),
  );
  // A repeat gets the first response, whose events were validated at their own time.
  const answered = posted.read_ms === at.read_ms ? batch : await read(posted);
  return { ...answered, first: posted.first };
}

/**
 * Runs checks that may refuse a request before its body is read. On refusal the body is discarded,
 * so that other requests can continue on the connection.
 */
export async function orDiscard<T>(request: IncomingMessage, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await discardBody(request);
    throw error;
  }
}

/** Reads and drops an unwanted body, within bounds, so that its sender reads the response. */
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
