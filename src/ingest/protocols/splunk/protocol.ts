import { parseBody, isObject } from "../../kit/json.ts";
import type { ProtocolEndpoint, PostEndpoint, ProtocolAnswer, BodyReading, Received } from "../../kit/endpoint.ts";
import type { Protocol } from "../protocol.ts";
import { decodeEvents, decodeRaw } from "./decode.ts";
import { answer, failure } from "./respond.ts";

const COLLECTOR = /^\/services\/collector(?:\/(?<what>event|raw|mint|health|ack)(?:\/1\.0)?)?$/;
/** Range of acknowledgement ids. Any id will do: events are durable when they are answered. */
const ACK_IDS = 2 ** 48;

/** Splunk's HTTP event collector. */
export const SPLUNK: Protocol = {
  name: "splunk",
  page: "splunk.md",
  match(method, path): ProtocolEndpoint | null {
    const match = COLLECTOR.exec(path);
    if (match === null) return null;
    const what = match.groups?.["what"] ?? "event";
    if (what === "health") return method === "GET" || method === "HEAD" ? HEALTH : null;
    // Docker's driver uses OPTIONS to check that the collector exists.
    if (method === "OPTIONS") return THERE;
    if (method !== "POST") return null;
    return what === "raw" ? RAW : what === "ack" ? ACKS : EVENTS;
  },
};

const HEALTH: ProtocolEndpoint = { kind: "info", answer: () => answer(200, 17, "HEC is healthy") };
const THERE: ProtocolEndpoint = { kind: "info", answer: () => ({ status: 200, type: null, body: "" }) };

const EVENTS = endpoint((received) => ({
  items: decodeEvents(received.body, received.choice),
  accepted: () => accepted(received),
}));

const RAW = endpoint((received) => ({
  items: decodeRaw(received),
  accepted: () => accepted(received),
}));

/** Confirms all ids, because events are durable when their request is answered. */
const ACKS: PostEndpoint = {
  ...endpoint(({ body }) => {
    const asked = parseBody(body);
    const ids = isObject(asked) && Array.isArray(asked["acks"]) ? (asked["acks"] as unknown[]) : [];
    // Joined, because an object with many small and large integers as names takes quadratic time.
    const names = [...new Set(ids.filter((id) => typeof id === "number"))].join('":true,"');
    const answered = names === "" ? "" : `"${names}":true`;
    return { items: [], accepted: () => ({ status: 200, type: "application/json", body: `{"acks":{${answered}}}` }) };
  }),
  storesNothing: true,
};

function endpoint(read: (received: Received) => BodyReading): PostEndpoint {
  return { kind: "post", read, failed: failure };
}

/** Returns a success, with an acknowledgement id for clients that name a channel. */
function accepted({ headers, query }: Received): ProtocolAnswer {
  const hasChannel = headers["x-splunk-request-channel"] !== undefined || query.has("channel");
  return answer(200, 0, "Success", hasChannel ? { ackId: Math.floor(Math.random() * ACK_IDS) } : {});
}
