import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Logger } from "pino";

import type { Catalog } from "../catalog/catalog.ts";
import { type ErrorCode, LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import type { FieldLimits } from "../events/limits.ts";
import { forwardingOf } from "../gate/address.ts";
import { createGate, type Gate } from "../gate/gate.ts";
import type { Place } from "../gate/guesses.ts";
import { readBody } from "../http/body.ts";
import { toFailure } from "../http/errors.ts";
import { addFastPath } from "../http/fast-path.ts";
import type { FastPath } from "../http/fast-path.ts";
import { parseForm } from "../http/form.ts";
import { COMMON_HEADERS } from "../http/headers.ts";
import type { Cut } from "../http/crowd.ts";
import { DEFAULT_CONNECTION_LIMITS, limitConnections } from "../http/listen.ts";
import { type Body, type Format, JSON_FORMAT, jsonOf, negotiate, render } from "../http/formats.ts";
import { refuseAmbiguous, requireHost } from "../http/unreadable.ts";
import { noteRequest } from "../pace.ts";
import { authorize, authorizeAtOnce, keyBesideForm } from "./api-key.ts";
import { BATCH_MAX_BYTES } from "./batch.ts";
import type { BatchForm } from "./batch.ts";
import { batchBody, batchJson } from "./batch-answer.ts";
import type { BatchOutcome } from "./batch-answer.ts";
import { batchFormOf, discardBody, idempotencyKey, looksLikeJson, postBatch } from "./batch-post.ts";
import { describeForm, errorDraft, readDraft } from "./draft.ts";
import type { Gatherer } from "./gatherer.ts";
import type { Once } from "./once.ts";
import { readVisitDraft } from "./visit-draft.ts";

export type PostListenerOptions = {
  readonly catalog: Catalog;
  readonly gatherer: Gatherer;
  readonly once: Once;
  readonly limits: FieldLimits;
  readonly log: Logger;
  /** What each request passes. Default: one of its own */
  readonly gate?: Gate;
  readonly observe?: PostObserver;
  /** Told of each connection that had to leave for others. */
  readonly cut?: (reason: Cut) => void;
  /** Answers some requests before they count as posts; true where it did. */
  readonly front?: (request: IncomingMessage, response: ServerResponse) => boolean;
};

/** Told of each request, on the path that is hit most: what it does must be no more than an increment. */
export type PostObserver = {
  began(): void;
  /** @param events how many events and visits were accepted */
  ended(outcome: "accepted" | ErrorCode, events: number): void;
};

/**
 * The largest form, in bytes: a record that holds it as an error event, whatever its characters, still fits one record of the bus.
 */
export const POST_BODY_MAX_BYTES = 128 * 1024;
const BODY_DEADLINE_MS = 10_000;
const BATCH_DEADLINE_MS = 30_000;
/** So many batches may be read and stored at once, for what they take of memory. */
const MAX_BATCHES = 128;
/** Of these, by one log, so that its producers, slow or many, leave room for those of others. */
const MAX_BATCHES_OF_LOG = 64;

const ACCEPTED_HEADERS = { ...COMMON_HEADERS, "Content-Type": "application/json; charset=utf-8" } as const;
/** Of `{"id":"…"}`. */
const POSTED_HEADERS = Object.freeze({ ...ACCEPTED_HEADERS, "Content-Length": "33" });
const NO_QUERY = new URLSearchParams();
const FORM_TYPE = "application/x-www-form-urlencoded";
/** What the query string of a JSONP call holds besides the event: `_` is what browser libraries add against caches. */
const JSONP_PARAMETERS: ReadonlySet<string> = new Set(["fmt", "callback", "_"]);
/** The address may come whole, with scheme and host, as to a proxy. */
const PATH = /^(?:https?:\/\/[^/?]*)?\/1\/logs\/([^/?]+)\/(events|users)\/?$/;

/**
 * The listener that takes events: `POST /1/logs/{k}/events` with a form, and the same by `GET` with `fmt=jsonp`. In the same way it
 * takes what the producer tells of its users, at `/1/logs/{k}/users`; and many events at once, as JSON, where it takes forms.
 *
 * It stands on `node:http` alone: of what a framework does for each request, nothing is needed here, and this is the path
 * that producers hit thousands of times a second.
 */
export function createPostListener(given: PostListenerOptions): Server {
  const options: Options = { gate: createGate(), observe: UNOBSERVED, ...given, batches: { all: 0, ofLog: new Map() } };
  const { observe, front, log } = options;
  const server = createServer((request, response) => {
    if (refuseAmbiguous(request, response) || front?.(request, response) === true) return;
    noteRequest();
    observe.began();
    handle(request, response, options)
      .then(({ outcome, events }) => observe.ended(outcome, events))
      .catch((error: unknown) => {
        log.error({ err: error }, "a post could not be answered");
        response.destroy();
        observe.ended("internal_error", 0);
      });
  });
  limitConnections(server, DEFAULT_CONNECTION_LIMITS, given.cut);
  const { keepAlive_ms, headersTimeout_ms: first_ms } = DEFAULT_CONNECTION_LIMITS;
  addFastPath(server, createFormPath(options), { keepAlive_ms, first_ms });
  return server;
}

const UNOBSERVED: PostObserver = { began() {}, ended() {} };

/** How many batches are under way. */
type Batches = { all: number; readonly ofLog: Map<LogKey, number> };
type Options = PostListenerOptions &
  Required<Pick<PostListenerOptions, "gate" | "observe">> & { readonly batches: Batches };

/** Where a form is posted to, and the headers that tell for whom the sender speaks, where it is a trusted proxy. */
type FormRoute = { readonly path: string; readonly headers: IncomingHttpHeaders };

/** How nearly all posts are taken: an event as a form, with the key in it and nothing wrong about it. Whatever else there is, {@link handle} knows. */
function createFormPath(options: Options): FastPath<FormRoute> {
  const { gatherer, limits, observe, log } = options;
  return {
    route({ method, target, headers }) {
      const [, key, table] = PATH.exec(target) ?? [];
      if (method !== "POST" || key === undefined || table !== "events") return null;
      if (batchFormOf(headers.get("content-type")) !== null) return null;
      if (negotiate(NO_QUERY, headers.get("accept")) !== JSON_FORMAT) return null;
      return { path: decodeSegment(key), headers: forwardingOf(headers) };
    },
    take({ path, headers }, body, socket, answer) {
      const fields = parseForm(body);
      const read = readDraft(fields, limits);
      if (read.kind === "bad") return false;
      // Last, for it counts the request.
      const target = authorizeAtOnce(path, fields.get("apikey") ?? "", { socket, headers }, options);
      if (target === null) return false;
      observe.began();
      gatherer.submitTelling(target, read.draft, {
        resolve(id) {
          observe.ended("accepted", 1);
          answer({ status: 201, headers: POSTED_HEADERS, payload: `{"id":"${id}"}` });
        },
        reject(error) {
          observe.ended(error instanceof LoggiaError ? error.code : "internal_error", 0);
          const { status, headers, body } = toFailure(error, log);
          answer({ status, ...written(JSON_FORMAT, headers, body) });
        },
      });
      return true;
    },
  };
}

const TYPES_OF_JSON =
  "this was read as a form; JSON needs the Content-Type application/json, or application/x-ndjson where each line is an event";

type Outcome = { readonly outcome: "accepted" | ErrorCode; readonly events: number };
const ACCEPTED: Outcome = Object.freeze({ outcome: "accepted", events: 1 });

async function handle(request: IncomingMessage, response: ServerResponse, options: Options): Promise<Outcome> {
  let format = JSON_FORMAT;
  try {
    requireHost(request);
    const place = options.gate.placeOf(request, options.gate.enter(request));
    const url = request.url ?? "/";
    const mark = url.indexOf("?");
    const query = mark === -1 ? NO_QUERY : parseForm(url.slice(mark + 1));
    format = negotiate(query, request.headers.accept);
    const { key, table } = readPath(mark === -1 ? url : url.slice(0, mark));
    const isForm = request.headers["content-type"] === FORM_TYPE || table === "users";
    const outcome = isForm ? null : await readAsBatch(request, place, key, query, options);
    if (outcome?.kind === "batch") {
      answerBatch(request, response, format, outcome.batch);
      return { outcome: "accepted", events: outcome.batch.items.length };
    }
    const fields = outcome?.fields ?? (await readFields(request, query, format));
    if (table === "users") {
      const user = await postUser(key, fields, place, options);
      const xml = () => ({ root: "results", content: { user: { user } } });
      answer(request, response, 201, {}, format, { json: jsonOf({ user }), xml });
      return ACCEPTED;
    }
    const id = await post(key, fields, place, options);
    if (format === JSON_FORMAT) {
      response.writeHead(201, POSTED_HEADERS).end(`{"id":"${id}"}`);
    } else {
      answer(request, response, 201, {}, format, {
        json: jsonOf({ id }),
        xml: () => ({ root: "results", content: { event: { id } } }),
      });
    }
  } catch (error) {
    const { status, headers, body } = toFailure(error, options.log);
    answer(request, response, status, headers, format, body);
    return { outcome: error instanceof LoggiaError ? error.code : "internal_error", events: 0 };
  }
  return ACCEPTED;
}

type ReadBatch =
  | { readonly kind: "batch"; readonly batch: BatchOutcome }
  /** It said that it is JSON, and is a form. */
  | { readonly kind: "form"; readonly fields: URLSearchParams };

/** Takes a request for a batch where its content type says that it is one; null where it does not. */
async function readAsBatch(
  request: IncomingMessage,
  place: Place,
  path: string,
  query: URLSearchParams,
  options: Options,
): Promise<ReadBatch | null> {
  const form = request.method === "POST" ? batchFormOf(request.headers["content-type"]) : null;
  if (form === null) return null;
  const secret = keyBesideForm(query, request.headers);
  if (secret === "" && form === "array") {
    // A batch has its key beside the body: if anything, this is a form, and no larger than one.
    const body = await readBody(request, {
      limit_bytes: POST_BODY_MAX_BYTES,
      deadline_ms: BODY_DEADLINE_MS,
      gzip: true,
    });
    if (!looksLikeJson(body)) return { kind: "form", fields: parseForm(body) };
  }
  // Before the body, and before a batch takes room: both are only for those who may send one.
  const log = await authorize(path, secret, place, options).catch(async (error: unknown) => {
    await discardBody(request);
    throw error;
  });
  const leave = enterBatch(log, options.batches);
  try {
    return await takeBatch(request, form, { log, secret }, options);
  } finally {
    leave();
  }
}

/** Takes room for a batch, and returns what gives it back. @throws LoggiaError `too_many_requests`, `overloaded` */
function enterBatch(log: LogKey, batches: Batches): () => void {
  const own = batches.ofLog.get(log) ?? 0;
  if (own >= MAX_BATCHES_OF_LOG) {
    const message = `This log has ${own} batches that are being read and stored; let some end before you send more`;
    throw new LoggiaError("too_many_requests", message, { retryAfter_s: 1 });
  }
  if (batches.all >= MAX_BATCHES) {
    throw new LoggiaError("overloaded", "Too many batches are being read and stored; try again shortly");
  }
  batches.all += 1;
  batches.ofLog.set(log, own + 1);
  return () => {
    batches.all -= 1;
    const left = batches.ofLog.get(log)! - 1;
    if (left === 0) batches.ofLog.delete(log);
    else batches.ofLog.set(log, left);
  };
}

async function takeBatch(
  request: IncomingMessage,
  form: BatchForm,
  { log, secret }: { log: LogKey; secret: string },
  options: Options,
): Promise<ReadBatch> {
  const body = await readBody(request, { limit_bytes: BATCH_MAX_BYTES, deadline_ms: BATCH_DEADLINE_MS, gzip: true });
  if (form === "array" && !looksLikeJson(body)) {
    const fields = parseForm(body);
    if (!fields.has("apikey")) fields.set("apikey", secret);
    if (body.length <= POST_BODY_MAX_BYTES) return { kind: "form", fields };
    throw new LoggiaError("body_too_large", `A form may hold at most ${POST_BODY_MAX_BYTES} bytes`);
  }
  return { kind: "batch", batch: await postBatch(log, form, body, idempotencyKey(request), options) };
}

function answerBatch(request: IncomingMessage, response: ServerResponse, format: Format, outcome: BatchOutcome): void {
  if (format !== JSON_FORMAT) return answer(request, response, 201, {}, format, batchBody(outcome));
  const payload = batchJson(outcome);
  response.writeHead(201, { ...ACCEPTED_HEADERS, "Content-Length": Buffer.byteLength(payload) });
  response.end(payload);
}

function readPath(path: string): { key: string; table: "events" | "users" } {
  const [, key, table] = PATH.exec(path) ?? [];
  if (key !== undefined) return { key: decodeSegment(key), table: table === "users" ? "users" : "events" };
  throw new LoggiaError(
    "path_not_found",
    "There is nothing at this path; events are posted to /1/logs/{logkey}/events, users to /1/logs/{logkey}/users",
  );
}

function decodeSegment(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The fields of a post: the form of a `POST` before its query string, the query string of a JSONP `GET`. */
async function readFields(request: IncomingMessage, query: URLSearchParams, format: Format): Promise<URLSearchParams> {
  const { method = "" } = request;
  if (method === "POST") {
    const form = parseForm(
      await readBody(request, { limit_bytes: POST_BODY_MAX_BYTES, deadline_ms: BODY_DEADLINE_MS }),
    );
    if (!form.has("apikey")) form.set("apikey", keyBesideForm(query, request.headers));
    return form;
  }
  if (method === "GET" && format.kind === "jsonp") {
    return new URLSearchParams([...query].filter(([name]) => !JSONP_PARAMETERS.has(name)));
  }
  throw new LoggiaError(
    "method_not_allowed",
    `${method} is not taken here; post events by POST, or by GET with fmt=jsonp and a callback`,
  );
}

/** Accepts the event, or in its place the error event that tells what was wrong with it. */
async function post(path: string, fields: URLSearchParams, place: Place, options: Options): Promise<string> {
  const { gatherer, limits } = options;
  const log = await authorize(path, fields.get("apikey") ?? "", place, options);
  const read = readDraft(fields, limits);
  if (read.kind === "draft") return await gatherer.submit(log, read.draft);
  // Who posts JSON by curl without naming its type sends a form of one strange field.
  const [first = ""] = fields.keys();
  const faults = looksLikeJson(Buffer.from(first)) ? [...read.faults, TYPES_OF_JSON] : read.faults;
  await gatherer.submit(log, errorDraft("event", faults, describeForm(fields)));
  throw new LoggiaError("bad_event", `Bad event: ${faults.join("; ")}. The log got an error event in its place`);
}

/** Accepts what was told of a user, or in its place the error event. Returns the user as posted. */
async function postUser(path: string, fields: URLSearchParams, place: Place, options: Options): Promise<string> {
  const { gatherer, limits } = options;
  const log = await authorize(path, fields.get("apikey") ?? "", place, options);
  const read = readVisitDraft(fields, limits);
  if (read.kind === "draft") {
    await gatherer.submitVisit(log, read.draft);
    return read.draft.user;
  }
  await gatherer.submit(log, errorDraft("user", read.faults, describeForm(fields)));
  throw new LoggiaError("bad_user", `Bad user: ${read.faults.join("; ")}. The log got an error event in its place`);
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  format: Format,
  body: Body,
): void {
  if (response.headersSent || response.destroyed) return;
  const { headers: all, payload } = written(format, headers, body);
  if (status === 405) all["Allow"] = "POST, GET";
  // What is left of a body that nobody reads would be taken for the next request.
  if (!request.complete) all["Connection"] = "close";
  response.writeHead(status, all);
  response.end(payload);
}

/** What an answer carries, in the format asked for. */
function written(
  format: Format,
  headers: Readonly<Record<string, string>>,
  body: Body,
): { readonly headers: OutgoingHttpHeaders; readonly payload: string } {
  const { contentType, payload } = render(format, body);
  const length = Buffer.byteLength(payload);
  return {
    headers: { ...COMMON_HEADERS, ...headers, "Content-Type": contentType, "Content-Length": length },
    payload,
  };
}
