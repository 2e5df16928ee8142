import type { Failure } from "../../../http/errors.ts";
import type { Outcome, PostEndpoint, Protocol, ProtocolAnswer, Received } from "../protocol.ts";
import { decodeLines } from "./decode.ts";
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
  match: (method, path) => (path === PATH && (method === "POST" || method === "PUT") ? ENDPOINT : null),
};

const ENDPOINT: PostEndpoint = {
  kind: "post",
  read({ body, headers, choice, query }: Received) {
    const type = headers["content-type"] ?? "";
    const source = query.get("source") ?? "";
    const events = MESSAGE_PACK.test(type)
      ? decodeMessagePack(body, choice)
      : decodeLines(body, JSON_LINES.test(type), choice);
    return { items: source === "" ? events : withSource(events, source), accepted };
  },
  failed,
};

function* withSource(events: ReturnType<typeof decodeLines>, source: string): ReturnType<typeof decodeLines> {
  for (const event of events) yield !("fault" in event) && event.source === "" ? { ...event, source } : event;
}

function accepted(outcome: Outcome): ProtocolAnswer {
  return { status: 201, type: TYPE, body: JSON.stringify({ accepted: outcome.accepted }) };
}

function failed({ status, body }: Failure): ProtocolAnswer {
  return { status, type: TYPE, body: body.json() };
}
