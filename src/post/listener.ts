import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Logger } from "pino";

import type { Catalog, KeyGrant } from "../catalog/catalog.ts";
import { LoggiaError } from "../errors.ts";
import { type LogKey, parseLogKey } from "../events/event.ts";
import type { FieldLimits } from "../events/limits.ts";
import { readBody } from "../http/body.ts";
import { toFailure } from "../http/errors.ts";
import { parseForm } from "../http/form.ts";
import { COMMON_HEADERS } from "../http/headers.ts";
import { DEFAULT_CONNECTION_LIMITS, limitConnections } from "../http/listen.ts";
import { type Body, type Format, JSON_FORMAT, negotiate, render } from "../http/formats.ts";
import { requireHost } from "../http/unreadable.ts";
import { errorDraft, readDraft } from "./draft.ts";
import type { Gatherer } from "./gatherer.ts";
import { readVisitDraft } from "./visit-draft.ts";

export type PostListenerOptions = {
  readonly catalog: Catalog;
  readonly gatherer: Gatherer;
  readonly limits: FieldLimits;
  readonly log: Logger;
};

/**
 * The largest form, in bytes: a record that holds it as an error event, whatever its characters, still fits one record of the bus.
 */
export const POST_BODY_MAX_BYTES = 128 * 1024;
const BODY_DEADLINE_MS = 10_000;

const ACCEPTED_HEADERS = { ...COMMON_HEADERS, "Content-Type": "application/json; charset=utf-8" } as const;
/** What the query string of a JSONP call holds besides the event: `_` is what browser libraries add against caches. */
const JSONP_PARAMETERS: ReadonlySet<string> = new Set(["fmt", "callback", "_"]);
/** The address may come whole, with scheme and host, as to a proxy. */
const PATH = /^(?:https?:\/\/[^/?]*)?\/1\/logs\/([^/?]+)\/(events|users)\/?$/;

/**
 * The listener that takes events: `POST /1/logs/{k}/events` with a form, and the same by `GET` with `fmt=jsonp`. In the same way it
 * takes what the producer tells of its users, at `/1/logs/{k}/users`.
 *
 * It stands on `node:http` alone: of what a framework does for each request, nothing is needed here, and this is the path
 * that producers hit thousands of times a second.
 */
export function createPostListener(options: PostListenerOptions): Server {
  const server = createServer((request, response) => {
    handle(request, response, options).catch((error: unknown) => {
      options.log.error({ err: error }, "a post could not be answered");
      response.destroy();
    });
  });
  limitConnections(server, DEFAULT_CONNECTION_LIMITS);
  return server;
}

async function handle(request: IncomingMessage, response: ServerResponse, options: PostListenerOptions): Promise<void> {
  let format = JSON_FORMAT;
  try {
    requireHost(request);
    const url = request.url ?? "/";
    const mark = url.indexOf("?");
    const query = parseForm(mark === -1 ? "" : url.slice(mark + 1));
    format = negotiate(query, request.headers.accept);
    const { key, table } = readPath(mark === -1 ? url : url.slice(0, mark));
    const fields = await readFields(request, query, format);
    if (table === "users") {
      const user = await postUser(key, fields, options);
      const xml = () => ({ root: "results", content: { user: { user } } });
      answer(request, response, 201, {}, format, { json: { user }, xml });
      return;
    }
    const id = await post(key, fields, options);
    if (format === JSON_FORMAT) {
      // The answer to nearly every post, written without the detour of a renderer.
      const payload = `{"id":"${id}"}`;
      response.writeHead(201, { ...ACCEPTED_HEADERS, "Content-Length": payload.length });
      response.end(payload);
    } else {
      answer(request, response, 201, {}, format, {
        json: { id },
        xml: () => ({ root: "results", content: { event: { id } } }),
      });
    }
  } catch (error) {
    const { status, headers, body } = toFailure(error, options.log);
    answer(request, response, status, headers, format, body);
  }
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
    const apikey = query.get("apikey");
    if (apikey !== null && !form.has("apikey")) form.set("apikey", apikey);
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
async function post(
  path: string,
  fields: URLSearchParams,
  { catalog, gatherer, limits }: PostListenerOptions,
): Promise<string> {
  const log = await authorize(path, fields.get("apikey") ?? "", catalog);
  const read = readDraft(fields, limits);
  if (read.kind === "draft") return await gatherer.submit(log, read.draft);
  await gatherer.submit(log, errorDraft("event", read.faults, fields));
  throw new LoggiaError("bad_event", `Bad event: ${read.faults.join("; ")}. The log got an error event in its place`);
}

/** Accepts what was told of a user, or in its place the error event. Returns the user as posted. */
async function postUser(
  path: string,
  fields: URLSearchParams,
  { catalog, gatherer, limits }: PostListenerOptions,
): Promise<string> {
  const log = await authorize(path, fields.get("apikey") ?? "", catalog);
  const read = readVisitDraft(fields, limits);
  if (read.kind === "draft") {
    await gatherer.submitVisit(log, read.draft);
    return read.draft.user;
  }
  await gatherer.submit(log, errorDraft("user", read.faults, fields));
  throw new LoggiaError("bad_user", `Bad user: ${read.faults.join("; ")}. The log got an error event in its place`);
}

async function authorize(path: string, secret: string, catalog: Catalog): Promise<LogKey> {
  const grant: KeyGrant | null = secret === "" ? null : (catalog.knownApiKey(secret) ?? (await catalog.apiKey(secret)));
  const log = parseLogKey(path);
  if (grant === null || grant.disabled || log === null || grant.log !== log) {
    throw new LoggiaError("unauthorized", "The field apikey must be an enabled API key of this log");
  }
  if (grant.scope === "read-only")
    throw new LoggiaError("forbidden", "This API key may only read; posting needs a read-write or write-only key");
  return log;
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
  const { contentType, payload } = render(format, body);
  const all: OutgoingHttpHeaders = {
    ...COMMON_HEADERS,
    ...headers,
    "Content-Type": contentType,
    "Content-Length": Buffer.byteLength(payload),
  };
  if (status === 405) all["Allow"] = "POST, GET";
  // What is left of a body that nobody reads would be taken for the next request.
  if (!request.complete) all["Connection"] = "close";
  response.writeHead(status, all);
  response.end(payload);
}
