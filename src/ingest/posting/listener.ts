import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Logger } from "pino";

import type { Catalog } from "../../catalog/catalog.ts";
import { type ErrorCode, LoggiaError } from "../../errors.ts";
import type { PostClock } from "../../events/clock.ts";
import type { FieldLimits } from "../../events/limits.ts";
import type { OpenLines } from "../../events/lines.ts";
import { createRateLimiter, type RateLimiter } from "../../ratelimit/rate-limiter.ts";
import type { Peer } from "../../auth/requests/guesses.ts";
import { toFailure } from "../../http/errors.ts";
import { FailureLog } from "../../http/failure-log.ts";
import { parseForm } from "../../http/form.ts";
import type { EvictionReason } from "../../http/limits/connections.ts";
import { handleInTurn } from "../../http/limits/long-heads.ts";
import { limitConnections } from "../../http/listen.ts";
import { type ConnectionLimits, DEFAULT_CONNECTION_LIMITS } from "../../http/limits/connection-limits.ts";
import { type Format, JSON_FORMAT, jsonPayload, negotiate } from "../../http/formats.ts";
import { limitPipelining } from "../../http/limits/pipelining.ts";
import { refuseAmbiguous, requireHost } from "../../http/malformed.ts";
import { answerBrowser, corsDestination, requestedMethod } from "../pages/cors.ts";
import { matchProtocol } from "../protocols/match.ts";
import type { Match } from "../protocols/match.ts";
import type { ProtocolSettings } from "../kit/endpoint.ts";
import { RecentIds } from "../append/recent-ids.ts";
import { KnownSenders } from "../kit/known-senders.ts";
import { refuseByProtocol, serveProtocol } from "./serve-protocol.ts";
import type { TimeCounts } from "../append/store-events.ts";
import { hintHeaders, parameterHints } from "../../query/hints.ts";
import { answer, answerBatch, answerEvent } from "./answers.ts";
import type { Hints } from "./answers.ts";
import { authorizePost } from "../../auth/requests/posting-key.ts";
import { keyBesideForm } from "../../auth/requests/request-key.ts";
import { GuessLimiter } from "../../auth/requests/guess-limiter.ts";
import type { BatchOutcome } from "./batch-answer.ts";
import { createdRange } from "../append/created.ts";
import { KeyMask } from "./key-mask.ts";
import {
  describeForm,
  errorEvent,
  POSTED_FIELDS,
  hasEventField,
  validateEvent,
  withoutKeys,
} from "./validated-event.ts";
import type { WriteCoalescer } from "../append/write-coalescer.ts";
import { detectJsonForm, readForm, takeJson, type UnverifiedForm } from "./json-request.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import { createIngestMemory } from "../kit/ingest-memory.ts";
import type { IngestMemory } from "../kit/ingest-memory.ts";
import { addFormPath } from "./form-path.ts";
import type { PostObserver } from "./post-observer.ts";
import { POST_PATH, readPath, routeName } from "./post-path.ts";
import { validateVisit, VISIT_FIELDS } from "./validated-visit.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

export type PostListenerOptions = {
  readonly catalog: Catalog;
  readonly coalescer: WriteCoalescer;
  readonly idempotency: Idempotency;
  /** Default: the host's clock */
  readonly clock?: PostClock;
  readonly limits: FieldLimits;
  readonly log: Logger;
  /** Rate limiter of all requests. Default: a separate one */
  readonly limiter?: RateLimiter;
  /** Counts wrong credentials. Default: a separate one */
  readonly guesses?: GuessLimiter;
  readonly observe?: PostObserver;
  /** Memory of bodies. Default: separate budgets */
  readonly memory?: IngestMemory;
  /** Shares the thread with background work. */
  readonly scheduler: Scheduler;
  readonly connections?: ConnectionLimits;
  /** Settings of protocols. Default: their standards */
  readonly protocols?: ProtocolSettings;
  /** Whether plain posts are answered by the fast path. Default: true */
  readonly usesFastPath?: boolean;
  /** Reader of the lines of batches. Default: `scanLines` */
  readonly openLines?: OpenLines;
  /** Called when a connection is evicted. */
  readonly onEvicted?: (reason: EvictionReason) => void;
  /** Answers some requests before they count as posts. Returns true if it did. */
  readonly opsEndpoints?: (request: IncomingMessage, response: ServerResponse) => boolean;
};

/** Pipelining limit of one connection. Pipelined posts share an append. */
const POSTS_AT_ONCE = 64;
const NO_QUERY = new URLSearchParams();
const FORM_TYPE = "application/x-www-form-urlencoded";
/** Parameters of JSONP calls that are no event fields. Browser libraries add `_` against caches. */
const JSONP_PARAMETERS: ReadonlySet<string> = new Set(["fmt", "callback", "_"]);

/**
 * Creates the posting listener: `POST /1/logs/{k}/events` with a form, and `GET` with `fmt=jsonp`.
 * It takes data about users at `/1/logs/{k}/users` in the same way, and batches of events as JSON.
 *
 * It uses `node:http` directly. This is the hottest path, and it needs nothing of what a framework
 * does for each request.
 */
export function createPostListener(given: PostListenerOptions): Server {
  const { limiter = createRateLimiter() } = given;
  const options: Options = {
    guesses: new GuessLimiter(),
    observe: UNOBSERVED,
    memory: createIngestMemory(),
    ...given,
    limiter,
    failures: new FailureLog(given.log, limiter),
    knownSenders: new KnownSenders(),
    recent: new RecentIds(),
    settings: given.protocols ?? new Map(),
    onEventsCut: (events) => given.observe?.eventsCut?.(events),
    onTimes: (counts) => given.observe?.times?.(counts),
  };
  const { observe, opsEndpoints, scheduler, log } = options;
  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    if (opsEndpoints?.(request, response) === true) return;
    scheduler.noteRequest();
    observe.began();
    handle(request, response, options)
      .then(({ outcome, events }) => observe.ended(outcome, events))
      .catch((error: unknown) => {
        log.error({ err: error }, "a post could not be answered");
        response.destroy();
        observe.ended("internal_error", 0);
      });
  };
  const server = createServer((request, response) => {
    if (!refuseAmbiguous(request, response)) handleInTurn(request, scheduler, () => receive(request, response));
  });
  const { connections = DEFAULT_CONNECTION_LIMITS, usesFastPath = true } = given;
  limitPipelining(server, POSTS_AT_ONCE);
  const { keepAlive_ms, headersTimeout_ms: first_ms } = connections;
  const fast = usesFastPath ? addFormPath(server, options, { keepAlive_ms, first_ms, scheduler }) : null;
  limitConnections(server, connections, given.onEvicted, fast?.isAnswering);
  server.once("close", () => options.failures[Symbol.dispose]());
  return server;
}

const UNOBSERVED: PostObserver = { began() {}, ended() {} };

type Options = PostListenerOptions &
  Required<Pick<PostListenerOptions, "limiter" | "guesses" | "observe" | "memory">> & {
    readonly failures: FailureLog;
    readonly knownSenders: KnownSenders;
    readonly recent: RecentIds;
    readonly settings: ProtocolSettings;
    readonly onEventsCut: (events: number) => void;
    readonly onTimes: (counts: TimeCounts) => void;
  };

/** Added to the faults of a body without any event field. */
const ACCEPTED_TYPES =
  "the body was read as a form, application/x-www-form-urlencoded; " +
  "JSON needs the Content-Type application/json, or application/x-ndjson where each line is an event";

type Outcome = { readonly outcome: "accepted" | ErrorCode; readonly events: number };
const ACCEPTED: Outcome = Object.freeze({ outcome: "accepted", events: 1 });

async function handle(request: IncomingMessage, response: ServerResponse, options: Options): Promise<Outcome> {
  let format = JSON_FORMAT;
  let hints: Hints = {};
  const url = request.url ?? "/";
  const mark = url.indexOf("?");
  const route = POST_PATH.exec(mark === -1 ? url : url.slice(0, mark));
  let match: Match | null = null;
  try {
    requireHost(request);
    // Only paths outside the native API are matched against the protocols.
    if (route === null) match = matchProtocol(requestedMethod(request), url);
    const peer = options.guesses.peerAt(request, options.limiter.enter(request));
    const destination = corsDestination(route?.[1], match);
    if (answerBrowser(request, response, destination, options.catalog)) return { outcome: "accepted", events: 0 };
    if (match !== null) return await serveProtocol(request, response, match, peer, options);
    const query = mark === -1 ? NO_QUERY : parseForm(url.slice(mark + 1));
    format = negotiate(query, request.headers.accept);
    const { key, table } = readPath(route);
    if (mark !== -1) hints = hintHeaders(parameterHints(query, parametersOf(request.method, table)));
    const isForm = request.headers["content-type"] === FORM_TYPE || table === "users";
    const posted = isForm ? null : await takeJson(request, peer, key, query, response, options);
    if (posted?.kind === "batch") {
      answerBatch(request, response, hints, format, posted.outcome);
      return { outcome: "accepted", events: posted.outcome.lines.length };
    }
    if (posted?.kind === "event") {
      answerEvent(request, response, hints, format, idOf(posted.outcome));
      return ACCEPTED;
    }
    const form = posted?.form ?? (await readFields(request, query, format, { peer, options }));
    if (table === "users") {
      const user = await postUser(key, form, peer, options);
      const xml = () => ({ root: "results", content: { user: { user } } });
      answer(request, response, 201, hints, format, { json: jsonPayload({ user }), xml });
      return ACCEPTED;
    }
    answerEvent(request, response, hints, format, await post(key, form, peer, options));
  } catch (error) {
    const failed = match?.endpoint.failed;
    if (match !== null && failed !== undefined)
      return refuseByProtocol(request, response, { ...match, failed }, error, options);
    options.failures.note(error, { method: request.method ?? "", route: routeName(route), sender: request });
    const { status, headers, body } = toFailure(error);
    answer(request, response, status, { ...headers, ...hints }, format, body);
    return { outcome: error instanceof LoggiaError ? error.code : "internal_error", events: 0 };
  }
  return ACCEPTED;
}

/**
 * Returns the id of an event that was posted as JSON.
 * @throws LoggiaError `bad_event` if an error event was stored instead
 */
function idOf({ first, items }: BatchOutcome): string {
  const fault = items[0]!.fault;
  if (fault === null) return first;
  throw new LoggiaError("bad_event", `${fault}. An error event was stored in its place`);
}

/**
 * Returns the parameters that a query string may hold beside the common ones: for JSONP, the fields
 * of a post.
 */
function parametersOf(method: string | undefined, table: "events" | "users"): readonly string[] {
  if (method !== "GET") return [];
  return table === "users" ? VISIT_FIELDS : POSTED_FIELDS;
}

/** Reads the fields of a post: the form of a `POST`, or the query string of a JSONP `GET`. */
async function readFields(
  request: IncomingMessage,
  query: URLSearchParams,
  format: Format,
  { peer, options }: { readonly peer: Peer; readonly options: Options },
): Promise<UnverifiedForm> {
  const { method = "" } = request;
  if (method === "POST") {
    const { body, share } = await readForm(request, peer, options);
    const fields = parseForm(body);
    if (!fields.has("apikey")) fields.set("apikey", keyBesideForm(query, request.headers));
    return { fields, share };
  }
  if (method === "GET" && format.kind === "jsonp") {
    const fields = new URLSearchParams([...query].filter(([name]) => !JSONP_PARAMETERS.has(name)));
    return { fields, share: null };
  }
  throw new LoggiaError(
    "method_not_allowed",
    `${method} is not allowed; post events by POST, or by GET with fmt=jsonp and a callback`,
  );
}

/** Verifies the key of a form, and releases the form's memory. */
async function verifyForm(path: string, { fields, share }: UnverifiedForm, peer: Peer, options: Options) {
  const secret = fields.get("apikey") ?? "";
  try {
    return { ...(await authorizePost(path, secret, peer, options)), fields, secret };
  } finally {
    share?.release();
  }
}

/** Stores the event, or an error event that describes its faults. */
async function post(path: string, form: UnverifiedForm, peer: Peer, options: Options): Promise<string> {
  const { coalescer, limits } = options;
  const { log, fields, secret } = await verifyForm(path, form, peer, options);
  const read = validateEvent(fields, limits, () => createdRange(log, options));
  if (read.kind === "valid") return await coalescer.submit(log, read.valid, read.created);
  const mask = new KeyMask(secret);
  const shown = withoutKeys(fields, mask);
  // Faults quote what was posted, and may cut a key within it.
  const masked = validateEvent(shown, limits, () => createdRange(log, options));
  const found = masked.kind === "bad" ? masked.faults : read.faults.map((fault) => mask.hide(fault));
  const faults = looksLikeForm(fields) ? found : [...found, ACCEPTED_TYPES];
  await coalescer.submit(log, errorEvent("event", faults, describeForm(shown)));
  throw new LoggiaError("bad_event", `Bad event: ${faults.join("; ")}. An error event was stored in its place`);
}

/**
 * Returns whether a body was meant as a form. JSON and other text contain an event field only by
 * chance.
 */
function looksLikeForm(fields: URLSearchParams): boolean {
  const names = [...fields.keys()].filter((name) => name !== "apikey" && name !== "");
  if (names.length === 0) return true;
  return hasEventField(fields) && detectJsonForm(Buffer.from(names[0]!)) === null;
}

/** Stores what was posted about a user, or an error event. Returns the user as posted. */
async function postUser(path: string, form: UnverifiedForm, peer: Peer, options: Options): Promise<string> {
  const { coalescer, limits } = options;
  const { log, fields, secret } = await verifyForm(path, form, peer, options);
  const read = validateVisit(fields, limits);
  if (read.kind === "valid") {
    await coalescer.submitVisit(log, read.valid);
    return read.valid.user;
  }
  const shown = withoutKeys(fields, new KeyMask(secret));
  await coalescer.submit(log, errorEvent("user", read.faults, describeForm(shown)));
  throw new LoggiaError("bad_user", `Bad user: ${read.faults.join("; ")}. An error event was stored in its place`);
}
