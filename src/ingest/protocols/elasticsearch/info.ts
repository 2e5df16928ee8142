import type { Asked, ProtocolAnswer } from "../../kit/endpoint.ts";
import { BODY_MAX_BYTES } from "../../kit/endpoint.ts";
import type { ProtocolSetting } from "../protocol.ts";
import { PRODUCT } from "./respond.ts";

/** The version reported to clients. All clients in use accept the standard. */
export const VERSION_SETTING: ProtocolSetting = {
  name: "LOGGIA_ELASTICSEARCH_VERSION",
  standard: "8.19.0",
  help: "version of Elasticsearch reported to producers that post by _bulk",
  pattern: /^\d{1,2}\.\d{1,3}\.\d{1,3}$/,
  allowed: "a version such as 8.19.0",
};

const TAGLINE = "You Know, for Search";
const LICENSE = { status: "active", uid: "00000000-0000-0000-0000-000000000000", type: "basic", mode: "basic" };
const ACKNOWLEDGED = { acknowledged: true };
const SHARDS = { _shards: { total: 1, successful: 1, failed: 0 } };

type Answer = (asked: Asked) => object | string;

/**
 * Requests that clients make before they post, and what they set up. The responses are those of a
 * cluster that has everything they need.
 */
const READ: readonly (readonly [path: RegExp, answer: Answer])[] = [
  [/^\/$/, banner],
  [/^\/_license$/, () => ({ license: LICENSE })],
  [
    /^\/_xpack(?:\/usage)?$/,
    () => ({ build: {}, license: LICENSE, features: { ilm: { available: true, enabled: true } } }),
  ],
  [/^\/_xpack\/license$/, () => ({ license: LICENSE })],
  [/^\/_cluster\/health(?:\/[^/]+)?$/, health],
  [/^\/_cat\/health$/, () => "loggia green 1 1 0 0 0 0 0 0 - 100.0%\n"],
  [/^\/_nodes(?:\/.*)?$/, nodes],
  [/^\/_index_template(?:\/[^/]+)?$/, () => ({ index_templates: [] })],
  [/^\/(?:_template|_component_template|_ilm\/policy|_ingest\/pipeline|_data_stream)(?:\/[^/]+)?$/, () => ({})],
  // Beats create an index if they find no alias.
  [/^(?:\/[^/]+)?\/_alias(?:\/[^/]+)?$/, () => ({})],
  [/^(?:\/[^/]+)?\/_refresh$/, () => SHARDS],
];
const WRITTEN: readonly (readonly [path: RegExp, answer: Answer])[] = [
  [
    /^\/(?:_index_template|_template|_component_template|_ilm\/policy|_ingest\/pipeline|_data_stream)\/[^/]+$/,
    () => ACKNOWLEDGED,
  ],
  [/^(?:\/[^/]+)?\/_refresh$/, () => SHARDS],
];

/** Matches Elasticsearch's APIs other than documents: their names begin with an underscore. */
const ITS_OWN = /^(?:\/[^/]+)?\/_[a-z]/;
const NOT_HERE = {
  type: "resource_not_found_exception",
  reason: "events are posted by _bulk; no other API is implemented here",
};
const NOT_FOUND: ProtocolAnswer = {
  status: 404,
  type: "application/json",
  headers: PRODUCT,
  body: JSON.stringify({ error: { root_cause: [NOT_HERE], ...NOT_HERE }, status: 404 }),
};

/** Returns the response to a request that posts nothing; null if there is none. */
export function infoAnswer(method: string, path: string): ((asked: Asked) => ProtocolAnswer) | null {
  const isRead = method === "GET" || method === "HEAD";
  const known = isRead ? READ : method === "PUT" || method === "POST" ? WRITTEN : [];
  const [, answer] = known.find(([pattern]) => pattern.test(path)) ?? [];
  // Clients reject a response without the product header, whatever it says.
  if (answer === undefined) return ITS_OWN.test(path) ? () => NOT_FOUND : null;
  return (asked) => {
    const given = answer(asked);
    const isText = typeof given === "string";
    const type = isText ? "text/plain; charset=UTF-8" : "application/json";
    return { status: 200, type, headers: PRODUCT, body: isText ? given : JSON.stringify(given) };
  };
}

function banner({ settings }: Asked): object {
  return {
    name: "loggia",
    cluster_name: "loggia",
    cluster_uuid: "loggia",
    version: {
      number: versionFrom(settings),
      build_flavor: "default",
      build_type: "tar",
      build_hash: "0",
      build_date: "2026-01-01T00:00:00.000Z",
      build_snapshot: false,
      lucene_version: "9.12.2",
      minimum_wire_compatibility_version: "7.17.0",
      minimum_index_compatibility_version: "7.0.0",
    },
    tagline: TAGLINE,
  };
}

function versionFrom(settings: Asked["settings"]): string {
  return settings.get(VERSION_SETTING.name) ?? VERSION_SETTING.standard;
}

function health(): object {
  return {
    cluster_name: "loggia",
    status: "green",
    timed_out: false,
    number_of_nodes: 1,
    number_of_data_nodes: 1,
    active_shards_percent_as_number: 100,
  };
}

/** Matches the Host of a request: a name or an address, with or without a port. */
const HOST = /^(?<name>[\w.-]+|\[[\da-fA-F:.]+\])(?::(?<port>\d{1,5}))?$/;

/**
 * Returns one node, at the address that the client used. Clients that look for nodes, as Fluentd
 * does after 10,000 requests, then use those of the answer alone.
 */
function nodes({ settings, headers }: Asked): object {
  const { name, port } = HOST.exec(headers.host ?? "")?.groups ?? {};
  const found = name === undefined ? {} : { loggia: nodeAt(`${name}:${port ?? portOf(headers)}`, settings) };
  const total = Object.keys(found).length;
  return { _nodes: { total, successful: total, failed: 0 }, cluster_name: "loggia", nodes: found };
}

function nodeAt(address: string, settings: Asked["settings"]): object {
  return {
    name: "loggia",
    version: versionFrom(settings),
    build_flavor: "default",
    roles: ["data", "ingest", "master"],
    attributes: {},
    http: { bound_address: [address], publish_address: address, max_content_length_in_bytes: BODY_MAX_BYTES },
  };
}

/** Returns the port of an address without one, which a proxy may serve by TLS. */
function portOf({ "x-forwarded-proto": protocol }: Asked["headers"]): string {
  return protocol === "https" ? "443" : "80";
}
