import type { IncomingHttpHeaders } from "node:http";

import type { Catalog, KeyGrant } from "../catalog/catalog.ts";
import { LoggiaError } from "../errors.ts";
import { type LogKey, parseLogKey } from "../events/event.ts";

const BEARER = /^bearer +(\S+) *$/i;

/** The API key that a request carries outside of its form: in the query string, as a bearer token, or in `X-API-Key`; "" where there is none. */
export function keyBesideForm(query: URLSearchParams, headers: IncomingHttpHeaders): string {
  const inQuery = query.get("apikey");
  if (inQuery !== null) return inQuery;
  const bearer = headers.authorization === undefined ? undefined : BEARER.exec(headers.authorization)?.[1];
  if (bearer !== undefined) return bearer;
  const header = headers["x-api-key"];
  return typeof header === "string" ? header : "";
}

/**
 * The log of a path, where the key may post to it.
 * @throws LoggiaError `unauthorized`, `forbidden`
 */
export async function authorize(path: string, secret: string, catalog: Catalog): Promise<LogKey> {
  const grant: KeyGrant | null = secret === "" ? null : (catalog.knownApiKey(secret) ?? (await catalog.apiKey(secret)));
  const log = parseLogKey(path);
  if (grant === null || grant.disabled || log === null || grant.log !== log) {
    throw new LoggiaError(
      "unauthorized",
      "An enabled API key of this log is needed: as the field or parameter apikey, as Authorization: Bearer, or as X-API-Key",
    );
  }
  if (grant.scope === "read-only")
    throw new LoggiaError("forbidden", "This API key may only read; posting needs a read-write or write-only key");
  return log;
}
