import { PROTOCOLS } from "./list.ts";
import type { Endpoint } from "./protocol.ts";

/** A request that belongs to a protocol. */
export type Match = {
  readonly endpoint: Endpoint;
  /** The log that the path names, not checked; null: the key alone chooses it. */
  readonly logOfPath: string | null;
  /** The key that the path holds. */
  readonly secret: string | undefined;
};

/** What may stand before a protocol's own path: the log, or the key. */
const PREFIX = /^\/(?:1\/logs\/(?<log>[^/]+)|keys\/(?<secret>[^/]+))(?=\/|$)/;
/** The address may come whole, with scheme and host, as to a proxy. */
const ORIGIN = /^https?:\/\/[^/?]*/i;
const LONGEST = 2_048;

/**
 * The protocol that a request belongs to; null where it belongs to none.
 * @param target with or without a query string
 */
export function matchProtocol(method: string, target: string): Match | null {
  const [whole = ""] = target.split("?", 1);
  const path = whole.replace(ORIGIN, "").replaceAll(/\/{2,}/g, "/");
  if (path.length > LONGEST) return null;
  const prefix = PREFIX.exec(path);
  const rest = trimmed(prefix === null ? path : path.slice(prefix[0].length));
  const logOfPath = decoded(prefix?.groups?.["log"]) ?? null;
  const secret = decoded(prefix?.groups?.["secret"]);
  for (const protocol of PROTOCOLS) {
    const endpoint = protocol.match(method, rest);
    if (endpoint !== null) return { endpoint, logOfPath, secret };
  }
  return null;
}

function trimmed(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path === "" ? "/" : path;
}

function decoded(segment: string | undefined): string | undefined {
  if (segment === undefined) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
