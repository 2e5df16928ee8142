import { decodeSegment } from "../../http/segment.ts";
import { PROTOCOLS } from "./list.ts";
import type { ProtocolEndpoint } from "../kit/endpoint.ts";

/** A request that belongs to a protocol. */
export type Match = {
  /** Name of the protocol. */
  readonly protocol: string;
  readonly endpoint: ProtocolEndpoint;
  /** The log named in the path, not validated; null: the API key determines it. */
  readonly logOfPath: string | null;
  /** The API key in the path. */
  readonly secret: string | undefined;
};

/** Optional prefix of a protocol's path: the log, or the API key. */
const PREFIX = /^\/(?:1\/logs\/(?<log>[^/]+)|keys\/(?<secret>[^/]+))(?=\/|$)/;
/** A request target may include scheme and host, as sent to a proxy. */
const ORIGIN = /^https?:\/\/[^/?]*/i;
const LONGEST = 2_048;

/**
 * Returns the protocol endpoint of a request; null if no protocol matches.
 * @param target request target, with or without a query string
 */
export function matchProtocol(method: string, target: string): Match | null {
  const [whole = ""] = target.split("?", 1);
  const path = whole.replace(ORIGIN, "").replaceAll(/\/{2,}/g, "/");
  if (path.length > LONGEST) return null;
  const prefix = PREFIX.exec(path);
  const rest = trimmed(prefix === null ? path : path.slice(prefix[0].length));
  const { log, secret: key } = prefix?.groups ?? {};
  const logOfPath = log === undefined ? null : decodeSegment(log);
  const secret = key === undefined ? undefined : decodeSegment(key);
  for (const protocol of PROTOCOLS) {
    const endpoint = protocol.match?.(method, rest) ?? null;
    if (endpoint !== null) return { protocol: protocol.name, endpoint, logOfPath, secret };
  }
  return null;
}

function trimmed(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path === "" ? "/" : path;
}
