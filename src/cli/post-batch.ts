import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";

import { DECOMPRESSION_MAX_RATIO } from "../http/body.ts";
import { judgeAnswer } from "../pino/answer.mjs";
import type { Outage } from "./outage.ts";
import type { ShipCounts } from "./progress.ts";
import { CommandError, type ReceivedReply, REPLY_TIMEOUT_MS, type RequestSender } from "./request.ts";
import type { ShippedLine } from "./ship/item.ts";
import type { PendingBatch } from "./ship/state.ts";

/** Smallest body that is compressed. Smaller ones fit a few packets anyway. */
const ZIP_BYTES = 4_096;
const FIRST_BACKOFF_MS = 100;
const LAST_BACKOFF_MS = 5_000;
/** Minimum timeout of the last attempt, in milliseconds. */
const LAST_REPLY_MS = 1_000;

const zip = promisify(gzip);
const unzip = promisify(gunzip);

export type Posting = {
  readonly sender: RequestSender;
  readonly url: URL;
  readonly options: { readonly key: string; readonly patience_s: number };
  readonly counts: ShipCounts;
  readonly fail: (line: string, why: string) => void;
  readonly outage: Outage;
  /** Ends retries: the run was interrupted, or has given up another batch. */
  readonly signal: AbortSignal;
  /** Fires if the run was interrupted. */
  readonly interrupted: AbortSignal;
};

/** Lines of a batch that Loggia neither stored nor refused. `waited_s`: time since the first attempt. */
export type GivenUp = { readonly unsent: readonly ShippedLine[]; readonly why: string; readonly waited_s: number };

/**
 * Posts a batch, and retries it up to `patience_s`, until Loggia stores or refuses it. A batch that
 * Loggia finds too large is posted in halves.
 * @returns null, or what it gave up: the service would not take the next batch either
 * @throws CommandError if the service rejects the key or does not know the address
 */
export async function postBatch(
  batch: readonly ShippedLine[],
  pending: PendingBatch,
  posting: Posting,
): Promise<GivenUp | null> {
  const { counts, fail, outage } = posting;
  const outcome = await outcomeOf(pending, posting);
  switch (outcome.kind) {
    case "stored":
      outage.succeeded();
      for (const [i, { line }] of batch.entries()) {
        const fault = outcome.faults[i] === undefined ? NO_OUTCOME : outcome.faults[i];
        if (fault === null) counts.posted += 1;
        else fail(line, fault);
      }
      return null;
    case "refused":
      outage.succeeded();
      if (outcome.status === 413 && batch.length > 1) return await postHalves(batch, pending, posting);
      for (const { line } of batch) fail(line, outcome.why);
      return null;
    case "given up":
      return { unsent: batch, why: outcome.why, waited_s: outcome.waited_s };
    default:
      return outcome satisfies never;
  }
}

/**
 * Posts the halves of a batch. Their keys follow from the batch's, so that a run that repeats the
 * batch repeats the same halves.
 */
async function postHalves(
  batch: readonly ShippedLine[],
  { key }: PendingBatch,
  posting: Posting,
): Promise<GivenUp | null> {
  const middle = Math.ceil(batch.length / 2);
  for (const [n, half] of [batch.slice(0, middle), batch.slice(middle)].entries()) {
    const givenUp = await postBatch(half, { key: `${key}.${n}`, ...(await encodeBatchBody(half)) }, posting);
    if (givenUp !== null) return { ...givenUp, unsent: [...givenUp.unsent, ...(n === 0 ? batch.slice(middle) : [])] };
  }
  return null;
}

/** Sends a batch until there is a final answer. */
async function outcomeOf(
  pending: PendingBatch,
  posting: Posting,
): Promise<Final | { readonly kind: "given up"; readonly why: string; readonly waited_s: number }> {
  const { sender, url, options, counts, outage, signal } = posting;
  const message = messageFor(pending, options.key);
  const started_ms = performance.now();
  const until_ms = started_ms + options.patience_s * 1000;
  for (let backoff_ms = FIRST_BACKOFF_MS; ; backoff_ms = Math.min(backoff_ms * 2, LAST_BACKOFF_MS)) {
    const rest_ms = Math.max(until_ms - performance.now(), LAST_REPLY_MS);
    const timeout_ms = Math.min(REPLY_TIMEOUT_MS, rest_ms);
    const outcome = await outage.watch(attempt(sender, url, { ...message, timeout_ms, reply_ms: timeout_ms }));
    if (outcome.kind === "stored" || outcome.kind === "refused") return outcome;
    outage.failed(outcome.kind, outcome.why);
    const left_ms = until_ms - performance.now();
    // The last wait ends with `patience_s`, so that all of it is used.
    const pause_ms = Math.min(backoff_ms * (0.5 + Math.random() / 2), left_ms);
    const asked_ms = outcome.retryAfter_ms ?? 0;
    const wait_ms = Math.max(pause_ms, outcome.kind === "busy" ? asked_ms : Math.min(asked_ms, left_ms));
    if (signal.aborted || left_ms <= 0 || wait_ms > left_ms) {
      const asked = wait_ms > left_ms && left_ms > 0 ? `, and asked to wait for ${Math.ceil(wait_ms / 1000)} s` : "";
      const why = outcome.kind === "busy" ? `Loggia answered ${outcome.why}${asked}` : outcome.why;
      return { kind: "given up", why, waited_s: Math.round((performance.now() - started_ms) / 1000) };
    }
    counts.retried += 1;
    await delay(wait_ms, undefined, { signal }).catch(() => {});
  }
}

type Message = { readonly method: "POST"; readonly headers: Record<string, string>; readonly body: Buffer };

/** Encodes a batch as a request body, compressed if that makes it smaller. */
export async function encodeBatchBody(batch: readonly ShippedLine[]): Promise<{ body: Buffer; isZipped: boolean }> {
  const plain = Buffer.from(batch.map(({ json }) => json).join("\n"));
  const zipped = plain.length < ZIP_BYTES ? plain : await zip(plain, { level: 1 });
  // The service rejects higher compression ratios.
  const isSmaller = zipped.length < plain.length && plain.length <= zipped.length * DECOMPRESSION_MAX_RATIO;
  return { body: isSmaller ? zipped : plain, isZipped: isSmaller };
}

/** Decodes the lines of a stored body, as they were sent. */
export async function readBatchItems({ body, isZipped }: PendingBatch): Promise<ShippedLine[]> {
  const plain = isZipped ? await unzip(body) : body;
  return plain
    .toString("utf8")
    .split("\n")
    .map((json) => ({ line: json, json }));
}

/** Builds the request of a batch. All attempts share its idempotency key. */
function messageFor({ key, body, isZipped }: PendingBatch, apiKey: string): Message {
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    "Content-Type": "application/x-ndjson",
    "Idempotency-Key": key,
    // Nobody can correct the time of a line: it is stored, whatever it claims.
    "X-Loggia-Created": "claimed",
    ...(isZipped && { "Content-Encoding": "gzip" }),
  };
  return { method: "POST", headers, body };
}

/** Used for lines without a listed fault: without valid events only the first are listed. */
const NO_OUTCOME = "the service accepted no line of the batch";

type Final =
  /** `faults`: one per line, in order; null if it was posted. */
  | { readonly kind: "stored"; readonly faults: readonly (string | null)[] }
  | { readonly kind: "refused"; readonly status: number; readonly why: string };

/** `unreachable`: something other than Loggia answered, or nothing. */
type Temporary = {
  readonly kind: "busy" | "unreachable";
  readonly why: string;
  readonly retryAfter_ms: number | null;
};

async function attempt(
  sender: RequestSender,
  url: URL,
  message: Message & { readonly timeout_ms: number; readonly reply_ms: number },
): Promise<Final | Temporary> {
  let reply: ReceivedReply;
  try {
    reply = await sender.send(url, message);
  } catch (error) {
    return { kind: "unreachable", why: faultOf(error as Error), retryAfter_ms: null };
  }
  const { status, body, location, retryAfter_ms } = reply;
  const verdict = judgeAnswer(status, body, location);
  switch (verdict.kind) {
    case "stored": {
      const { items } = verdict.answer as { items?: { error?: { message: string } }[] };
      return { kind: "stored", faults: (items ?? []).map(({ error }) => error?.message ?? null) };
    }
    case "refused":
      requireKnown(verdict);
      return verdict;
    case "retry":
      return verdict.isOwn
        ? { kind: "busy", why: verdict.why, retryAfter_ms }
        : // A proxy's wait says nothing about the service, and may be an hour.
          { kind: "unreachable", why: verdict.why, retryAfter_ms: Math.min(retryAfter_ms ?? 0, LAST_BACKOFF_MS) };
    default:
      return verdict satisfies never;
  }
}

/** @throws CommandError if the service would refuse every batch like this one */
function requireKnown({ status, why }: { readonly status: number; readonly why: string }): void {
  if (status === 401 || status === 403) throw new CommandError(`The service rejects the API key: ${why}`);
  if (status === 404) throw new CommandError(`The service has no such address: ${why}; check --url and --log`);
}

/** If all addresses of a host refuse, the error has no message of its own. */
function faultOf(error: Error): string {
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return error.message || causes.map(({ message }) => message).join("; ") || error.name;
}
