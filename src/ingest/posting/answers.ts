import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";

import { type Body, type Format, JSON_FORMAT, jsonPayload, render } from "../../http/formats.ts";
import { COMMON_HEADERS } from "../../http/headers.ts";
import { endAfter } from "../../http/response-tracker.ts";
import type { hintHeaders } from "../../query/hints.ts";
import { batchBody, batchJson } from "./batch-answer.ts";
import type { BatchOutcome } from "./batch-answer.ts";

const ACCEPTED_HEADERS = { ...COMMON_HEADERS, "Content-Type": "application/json; charset=utf-8" } as const;
/** Headers of the response `{"id":"…"}`. */
export const POSTED_HEADERS = Object.freeze({ ...ACCEPTED_HEADERS, "Content-Length": "33" });

/** Response headers that point out unknown parameters. */
export type Hints = ReturnType<typeof hintHeaders>;

/** Answers a post of one event that was accepted. */
export function answerEvent(
  request: IncomingMessage,
  response: ServerResponse,
  hints: Hints,
  format: Format,
  id: string,
): void {
  if (format === JSON_FORMAT) {
    response.writeHead(201, { ...POSTED_HEADERS, ...hints }).end(`{"id":"${id}"}`);
    return;
  }
  const xml = () => ({ root: "results", content: { event: { id } } });
  answer(request, response, 201, hints, format, { json: jsonPayload({ id }), xml });
}

/** Answers a post of a batch. */
export function answerBatch(
  request: IncomingMessage,
  response: ServerResponse,
  hints: Hints,
  format: Format,
  outcome: BatchOutcome,
): void {
  if (format !== JSON_FORMAT) return answer(request, response, 201, hints, format, batchBody(outcome));
  const payload = batchJson(outcome);
  response.writeHead(201, { ...ACCEPTED_HEADERS, ...hints, "Content-Length": Buffer.byteLength(payload) });
  response.end(payload);
}

/** Answers in the requested format, unless the client is gone or has been answered. */
export function answer(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  format: Format,
  body: Body,
): void {
  if (response.headersSent || response.destroyed) return;
  const { headers: all, payload } = renderAnswer(format, headers, body);
  if (status === 405) all["Allow"] = "POST, GET";
  // The unread rest of the body would be taken for the next request.
  if (!request.complete) {
    all["Connection"] = "close";
    endAfter(request);
  }
  response.writeHead(status, all);
  response.end(payload);
}

/** Returns headers and payload of a response in the requested format. */
export function renderAnswer(
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
