import type { IncomingHttpHeaders } from "node:http";

import { isGeneratedApiKey } from "../secrets.ts";

const SCHEME = /^(?<scheme>[A-Za-z]+) +(?<value>\S.*)$/;
/** Schemes of `Authorization` whose value is an API key. */
const KEY_SCHEMES = ["Bearer", "Splunk", "ApiKey"] as const;
/** Headers whose value is an API key. */
const HEADERS = ["apikey", "x-api-key", "dd-api-key", "x-splunk-token"] as const;

const BEARER = /^bearer +(\S+) *$/i;

/**
 * Returns the API key outside of the form: from the query string, a bearer token, or the header
 * `apikey` or `X-API-Key`; "" if there is none.
 */
export function keyBesideForm(query: URLSearchParams, headers: IncomingHttpHeaders): string {
  const inQuery = query.get("apikey");
  if (inQuery !== null) return inQuery;
  const bearer = headers.authorization === undefined ? undefined : BEARER.exec(headers.authorization)?.[1];
  if (bearer !== undefined) return bearer;
  const header = headers["apikey"] || headers["x-api-key"];
  return typeof header === "string" ? header : "";
}

/**
 * Returns a request's API key from any place where clients put one: path, query string, token,
 * password of Basic authentication, or a separate header. "" if there is none.
 * @param inPath the API key in the path, if any
 */
export function keyInRequest(inPath: string | undefined, query: URLSearchParams, headers: IncomingHttpHeaders): string {
  const given = inPath ?? query.get("apikey") ?? query.get("dd-api-key") ?? query.get("token");
  if (given !== null && given !== "") return given;
  const authorized = keyInAuthorization(headers.authorization ?? "");
  if (authorized !== "") return authorized;
  for (const name of HEADERS) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

/**
 * Names the header in which a request has an API key, where only posting reads one; null if it has
 * none. The name is one of ours, so an error that shows it shows nothing of the request.
 */
export function unreadKeyHeader(headers: IncomingHttpHeaders): string | null {
  const given = SCHEME.exec((headers.authorization ?? "").trim())?.groups?.["scheme"]?.toLowerCase();
  const scheme = KEY_SCHEMES.find((one) => one.toLowerCase() === given);
  if (scheme !== undefined) return `Authorization with the scheme ${scheme}`;
  return HEADERS.find((name) => (headers[name] ?? "") !== "") ?? null;
}

function keyInAuthorization(header: string): string {
  const { scheme = "", value = "" } = SCHEME.exec(header.trim())?.groups ?? {};
  switch (scheme.toLowerCase()) {
    case "bearer":
    case "splunk":
      return value.trim();
    case "basic":
      return afterColon(Buffer.from(value, "base64").toString("utf8")) ?? "";
    case "apikey":
      return keyInApiKeyScheme(value.trim());
    default:
      return "";
  }
}

/** Decodes Elasticsearch's scheme: the key itself, or base64 of an id, a colon and the key. */
function keyInApiKeyScheme(value: string): string {
  if (isGeneratedApiKey(value)) return value;
  const decoded = Buffer.from(value, "base64");
  const isBase64 = decoded.toString("base64").replace(/(?<!=)=+$/, "") === value.replace(/(?<!=)=+$/, "");
  return (isBase64 ? afterColon(decoded.toString("utf8")) : null) ?? value;
}

function afterColon(pair: string): string | null {
  const colon = pair.indexOf(":");
  return colon === -1 ? null : pair.slice(colon + 1);
}
