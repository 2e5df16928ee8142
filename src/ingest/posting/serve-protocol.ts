import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "pino";

import type { Catalog } from "../../catalog/catalog.ts";
import { type ErrorCode, LoggiaError } from "../../errors.ts";
import { HOST_CLOCK } from "../../events/clock.ts";
import type { PostClock } from "../../events/clock.ts";
import type { FieldLimits } from "../../events/limits.ts";
import type { RateLimiter } from "../../ratelimit/rate-limiter.ts";
import type { GuessLimiter } from "../../auth/requests/guess-limiter.ts";
import type { Peer } from "../../auth/requests/guesses.ts";
import { quotaOwner } from "../../ratelimit/quota-owner.ts";
import { announcedSize, hasBody, receiveSent } from "../../http/body.ts";
import { SMALL_BODY_BYTES } from "../../http/body-budget.ts";
import type { BodyShare } from "../../http/body-budget.ts";
import { toFailure } from "../../http/errors.ts";
import type { FailureLog } from "../../http/failure-log.ts";
import { parseForm } from "../../http/form.ts";
import { COMMON_HEADERS } from "../../http/headers.ts";
import { endAfter } from "../../http/response-tracker.ts";
import { goneSignal } from "../../http/when-closed.ts";
import { discardBody, idempotencyKey, orDiscard } from "./batch-post.ts";
import type { WriteCoalescer } from "../append/write-coalescer.ts";
import { hashOfBody } from "../idempotency/body-hash.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import type { IngestMemory } from "../kit/ingest-memory.ts";
import { setCorsHeaders } from "../pages/cors.ts";
import { authorizeByKey } from "../../auth/requests/posting-key.ts";
import { readFieldChoice } from "../kit/choice.ts";
import type { Admit, Admitted } from "../kit/admission.ts";
import type { KnownSenders } from "../kit/known-senders.ts";
import { keyInRequest } from "../../auth/requests/request-key.ts";
import { decompress, encodingOfContent, mostInflated } from "../kit/inflate.ts";
import type { Match } from "../protocols/match.ts";
import { BODY_MAX_BYTES, SMALL_BODY_MAX_BYTES } from "../kit/endpoint.ts";
import { readBodyPieces } from "./body-pieces.ts";
import type {
  FailureAnswer,
  InfoEndpoint,
  PostEndpoint,
  ProtocolAnswer,
  ProtocolSettings,
  Received,
} from "../kit/endpoint.ts";
import type { RecentIds } from "../append/recent-ids.ts";
import { type Producer, storeEvents, type TimeCounts } from "../append/store-events.ts";
import type { Yielder } from "../../scheduling/yielding.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

export type ServeOptions = {
  readonly catalog: Catalog;
  readonly coalescer: WriteCoalescer;
  readonly limiter: RateLimiter;
  readonly guesses: GuessLimiter;
  readonly clock?: PostClock;
  readonly limits: FieldLimits;
  readonly log: Logger;
  readonly failures: Pick<FailureLog, "note">;
  readonly idempotency: Idempotency;
  readonly memory: IngestMemory;
  readonly scheduler: Scheduler;
  readonly knownSenders: KnownSenders;
  readonly recent: RecentIds;
  readonly settings: ProtocolSettings;
  /** Called with the number of events of which something was cut. */
  readonly onEventsCut: (count: number) => void;
  readonly onTimes: (counts: TimeCounts) => void;
};

/** Outcome of a request, for metrics. */
export type Served = { readonly outcome: "accepted" | ErrorCode; readonly events: number };

const BODY_DEADLINE_MS = 60_000;

/** Serves a request of a protocol: stores its events, and answers once all of them are durable. */
export async function serveProtocol(
  request: IncomingMessage,
  response: ServerResponse,
  match: Match,
  peer: Peer,
  options: ServeOptions,
): Promise<Served> {
  const { endpoint } = match;
  const { scheduler } = options;
  try {
    const { answer, events } =
      endpoint.kind === "info"
        ? { answer: await inform(request, { ...match, endpoint }, peer, options), events: 0 }
        : await take(request, response, { ...match, endpoint }, peer, options);
    send(request, response, answer, {}, scheduler);
    return { outcome: "accepted", events };
  } catch (error) {
    if (endpoint.failed === undefined) throw error;
    return refuseByProtocol(request, response, { ...match, failed: endpoint.failed }, error, options);
  }
}

/** Returns the response to a request for information. */
async function inform(
  request: IncomingMessage,
  { endpoint, logOfPath, secret }: Match & { readonly endpoint: InfoEndpoint },
  peer: Peer,
  options: ServeOptions,
): Promise<ProtocolAnswer> {
  const { headers } = request;
  if (endpoint.failed !== undefined) {
    const key = keyInRequest(secret, queryOf(request.url ?? "/"), headers);
    await orDiscard(request, () => authorizeByKey(key, logOfPath, peer, options));
  }
  if (hasBody(request)) await discardBody(request);
  return endpoint.answer({ settings: options.settings, headers });
}

/** Answers a failed request in the form of its protocol. */
export function refuseByProtocol(
  request: IncomingMessage,
  response: ServerResponse,
  { protocol, failed }: { readonly protocol: string; readonly failed: FailureAnswer },
  error: unknown,
  { failures, scheduler }: Pick<ServeOptions, "failures" | "scheduler">,
): Served {
  failures.note(error, { method: request.method ?? "", route: protocol, sender: request });
  const failure = toFailure(error);
  send(request, response, failed(failure, error, request.headers), failure.headers, scheduler);
  return { outcome: error instanceof LoggiaError ? error.code : "internal_error", events: 0 };
}

type PostMatch = Match & { readonly endpoint: PostEndpoint };

async function take(
  request: IncomingMessage,
  response: ServerResponse,
  { endpoint, logOfPath, secret }: PostMatch,
  peer: Peer,
  options: ServeOptions,
): Promise<{ readonly answer: ProtocolAnswer; readonly events: number }> {
  const { headers } = request;
  const query = queryOf(request.url ?? "/");
  const { catalog, clock = HOST_CLOCK, memory, scheduler } = options;
  const key = keyInRequest(secret ?? endpoint.secret, query, headers);
  const { admit = admitByKey } = endpoint;
  const admitted = await orDiscard(request, () => admit(request, { logOfPath, key }, peer, options));
  setCorsHeaders(request, response, { log: admitted.log }, catalog);
  const owner = quotaOwner(catalog, admitted.log);
  const share = memory.bodies.enter(owner);
  try {
    const choice = readFieldChoice(query, headers);
    const gone = isSmall(request) ? undefined : goneSignal(response);
    const producer = { log: admitted.log, owner, apiKey: admitted.id, tags: choice.tags, gone };
    if (endpoint.pieces !== undefined) {
      const pieces = readBodyPieces(request, endpoint.pieces, { share, scheduler });
      const received = { headers, query, choice, limits: options.limits };
      return await storePieces(pieces, { endpoint, producer, received }, options);
    }
    const limit_bytes = endpoint.storesNothing === true ? SMALL_BODY_MAX_BYTES : BODY_MAX_BYTES;
    share.claim(mostHeld(request, limit_bytes));
    const sent = await sentBody(request, { admitted, scheduler, share, gone, limit_bytes });
    const encoding = encodingOf(request, sent, endpoint);
    const body = await decompress(sent, encoding, limit_bytes, { scheduler, share, gone });
    share.claim(0);
    await share.hold(body.length, gone);
    const sent_bytes = sent.length;
    const received = { body, sent_bytes, headers, query, choice, limits: options.limits, hook: admitted.hook };
    const begin = () => endpoint.read(received);
    // An id signed with the body takes precedence over an unsigned header.
    const repeat = admitted.hook?.signature === "standard" ? null : await repeatOf(request, body);
    const { reading, stored } = await storeEvents({ ...producer, sent_bytes, repeat }, body.length, begin, {
      ...options,
      clock,
    });
    if (stored.cut > 0) options.onEventsCut(stored.cut);
    return { answer: reading.accepted(stored), events: stored.accepted };
  } finally {
    admitted.received?.share.release();
    share.release();
  }
}

/** Admits a request whose key may post to the log. */
const admitByKey: Admit = async (_request, { logOfPath, key }, peer, options) => {
  return { ...(await authorizeByKey(key, logOfPath, peer, options)), hook: null, received: null };
};

/** Whether a request is small however much its body may decompress to. */
function isSmall({ headers }: IncomingMessage): boolean {
  const size_bytes = Number(headers["content-length"] ?? Infinity);
  return headers["content-encoding"] === undefined && size_bytes <= SMALL_BODY_BYTES;
}

/** Returns the most that a body may take until it is decompressed. */
function mostHeld(request: IncomingMessage, limit_bytes: number): number {
  const announced_bytes = announcedSize(request);
  const sent_bytes = announced_bytes > 0 && announced_bytes <= limit_bytes ? announced_bytes : limit_bytes;
  const isPacked = request.headers["content-encoding"] !== undefined;
  return isPacked ? sent_bytes + mostInflated(sent_bytes, limit_bytes) : sent_bytes;
}

type Sent = {
  readonly admitted: Pick<Admitted, "received">;
  readonly scheduler: Scheduler;
  readonly share: BodyShare;
  readonly gone: AbortSignal | undefined;
  readonly limit_bytes: number;
};

/** Returns the body as sent, within its memory. */
async function sentBody(request: IncomingMessage, sent: Sent): Promise<Buffer> {
  const { admitted, scheduler, share, gone, limit_bytes } = sent;
  const { received } = admitted;
  if (received === null) {
    const announced_bytes = announcedSize(request);
    if (announced_bytes <= limit_bytes) await orDiscard(request, () => share.hold(announced_bytes, gone));
    return await receiveSent(request, { limit_bytes, deadline_ms: BODY_DEADLINE_MS, scheduler, share, gone });
  }
  await share.hold(received.sent.length, gone);
  received.share.release();
  return received.sent;
}

type Pieced = {
  readonly endpoint: PostEndpoint;
  readonly producer: Omit<Producer, "repeat" | "sent_bytes">;
  readonly received: Omit<Received, "body" | "sent_bytes">;
};

/** Stores a body piece by piece. If it is refused, the pieces before are stored. */
async function storePieces(
  pieces: AsyncIterable<Buffer>,
  { endpoint, producer, received }: Pieced,
  { clock = HOST_CLOCK, ...options }: ServeOptions,
): Promise<{ readonly answer: ProtocolAnswer; readonly events: number }> {
  let events = 0;
  let answer: ProtocolAnswer | null = null;
  const store = async (body: Buffer): Promise<void> => {
    const begin = () => endpoint.read({ ...received, body, sent_bytes: body.length });
    const given = { ...producer, sent_bytes: body.length, repeat: null };
    const { reading, stored } = await storeEvents(given, body.length, begin, { ...options, clock });
    if (stored.cut > 0) options.onEventsCut(stored.cut);
    events += stored.accepted;
    answer = reading.accepted(stored);
  };
  for await (const piece of pieces) await store(piece);
  if (answer === null) await store(Buffer.alloc(0));
  return { answer: answer!, events };
}

/** Returns what identifies a repeated request: its key, and a hash of URL, type and body. */
async function repeatOf(request: IncomingMessage, body: Buffer): Promise<Producer["repeat"]> {
  const key = idempotencyKey(request);
  if (key === null) return null;
  const { url = "", headers } = request;
  return { key, hash: await hashOfBody(`${url}\n${headers["content-type"] ?? ""}\n`, body) };
}

function encodingOf({ headers }: IncomingMessage, body: Buffer, { encoding }: PostEndpoint): string {
  const given = (headers["content-encoding"] ?? "").trim().toLowerCase();
  if (encoding === "by content") return encodingOfContent(body);
  const isJson = /^application\/json\b/i.test(headers["content-type"] ?? "");
  return given === "" && encoding === "snappy unless JSON" && !isJson ? "snappy" : given === "identity" ? "" : given;
}

/** Sends a long answer as fast as the client reads it, with turns for other work in between. */
async function sendPieces(response: ServerResponse, pieces: Iterable<string>, yielder: Yielder): Promise<void> {
  const closed = once(response, "close");
  for (const piece of pieces) {
    if (piece !== "") response.write(piece);
    if (yielder.isDue) await yielder.turn();
    if (response.writableNeedDrain) await Promise.race([once(response, "drain"), closed]);
    if (response.destroyed) return;
  }
  response.end();
}

function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf("?");
  return parseForm(mark === -1 ? "" : url.slice(mark + 1));
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, type, body, headers }: ProtocolAnswer,
  more: Readonly<Record<string, string>>,
  scheduler: Scheduler,
): void {
  if (response.headersSent || response.destroyed) return;
  const all: Record<string, string | number | undefined> = {
    ...(COMMON_HEADERS as Record<string, string>),
    ...more,
    ...headers,
  };
  if (type !== null) all["Content-Type"] = type;
  // The unread rest of the body would be taken for the next request.
  if (!request.complete) {
    all["Connection"] = "close";
    endAfter(request);
  }
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    response.writeHead(status, all);
    void sendPieces(response, body, scheduler.beginDecoding()).catch(() => response.destroy());
    return;
  }
  if (status !== 204) all["Content-Length"] = Buffer.byteLength(body);
  response.writeHead(status, all).end(body);
}
