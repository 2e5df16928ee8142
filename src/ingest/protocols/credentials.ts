import type { IncomingHttpHeaders } from "node:http";

import { isDrawnApiKey } from "../../catalog/secrets.ts";

const SCHEME = /^(?<scheme>[A-Za-z]+) +(?<value>\S.*)$/;
/** Headers that hold nothing but a key. */
const HEADERS = ["apikey", "x-api-key", "dd-api-key", "x-splunk-token"] as const;

/**
 * The API key that a request carries, wherever clients put one: in the path or the query string, as
 * a token, as the password of Basic, or in a header of its own. "" where there is none.
 * @param inPath the key that stands in the path, if any
 */
export function keyOfRequest(inPath: string | undefined, query: URLSearchParams, headers: IncomingHttpHeaders): string {
  const given = inPath ?? query.get("apikey") ?? query.get("dd-api-key") ?? query.get("token");
  if (given !== null && given !== "") return given;
  const authorized = keyOfAuthorization(headers.authorization ?? "");
  if (authorized !== "") return authorized;
  for (const name of HEADERS) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

function keyOfAuthorization(header: string): string {
  const { scheme = "", value = "" } = SCHEME.exec(header.trim())?.groups ?? {};
  switch (scheme.toLowerCase()) {
    case "bearer":
    case "splunk":
      return value.trim();
    case "basic":
      return afterColon(Buffer.from(value, "base64").toString("utf8")) ?? "";
    case "apikey":
      return keyOfApiKey(value.trim());
    default:
      return "";
  }
}

/** Elasticsearch's scheme: the key itself, or base64 of an id, a colon and the key. */
function keyOfApiKey(value: string): string {
  if (isDrawnApiKey(value)) return value;
  const decoded = Buffer.from(value, "base64");
  const isBase64 = decoded.toString("base64").replace(/=+$/, "") === value.replace(/=+$/, "");
  return (isBase64 ? afterColon(decoded.toString("utf8")) : null) ?? value;
}

function afterColon(pair: string): string | null {
  const colon = pair.indexOf(":");
  return colon === -1 ? null : pair.slice(colon + 1);
}
