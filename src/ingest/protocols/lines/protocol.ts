import type { Failure } from "../../../http/errors.ts";
import { SharedParts } from "../../kit/amplification.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import type { Outcome, PostEndpoint, ProtocolAnswer, ReadEvent, Received } from "../../kit/endpoint.ts";
import type { Protocol } from "../protocol.ts";
import { decodeLines } from "./decode.ts";
import { LINE_SOCKETS } from "./listen.ts";
import { decodeMessagePack } from "./msgpack.ts";

const PATH = "/lines";
const JSON_LINES = /^application\/(?:x-ndjson|ndjson|jsonl|x-jsonlines|json)\s*(?:;|$)/i;
const MESSAGE_PACK = /^application\/(?:x-|vnd\.)?msgpack\s*(?:;|$)/i;
const TYPE = "application/json; charset=utf-8";

/**
 * Plain text with an event per line. With a content type of JSON or MessagePack, each object is an
 * event.
 */
export const LINES: Protocol = {
  name: "lines",
  page: "lines.md",
  sockets: LINE_SOCKETS,
  match: (method, path) => (path === PATH && (method === "POST" || method === "PUT") ? ENDPOINT : null),
};

const ENDPOINT: PostEndpoint = {
  kind: "post",
  read(received: Received) {
    const { body, headers, choice, query, limits } = received;
    const type = headers["content-type"] ?? "";
    const source = (query.get("source") ?? "").slice(0, 2 * limits.source + 1);
    const events = MESSAGE_PACK.test(type)
      ? decodeMessagePack(received)
      : decodeLines(body, JSON_LINES.test(type), choice);
    return { items: source === "" ? events : withSource(events, source, new SharedParts(received)), accepted };
  },
  failed,
};

/** Adds the source of the request to events without one. */
function* withSource(events: Iterable<ReadEvent>, source: string, shared: SharedParts): Generator<ReadEvent> {
  for (const event of events) {
    if ("fault" in event || (event.source !== "" && event.sourceKind !== "logger")) yield event;
    else yield shared.allows(source.length) ? { ...event, source } : tagIfCut(true, event);
  }
}

function accepted(outcome: Outcome): ProtocolAnswer {
  return { status: 201, type: TYPE, body: JSON.stringify({ accepted: outcome.accepted }) };
}

function failed({ status, body }: Failure): ProtocolAnswer {
  return { status, type: TYPE, body: body.json() };
}
