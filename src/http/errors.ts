import type { Logger } from "pino";

import { LoggiaError } from "../errors.ts";
import { jsonPayload } from "./formats.ts";
import type { Body } from "./formats.ts";

/** An error as a response: status, body and headers. */
export type Failure = {
  readonly status: number;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Returns the response for `error`. An error that is no {@link LoggiaError} is an internal one.
 * Internal ones are logged in full, and the client gets no details. Errors with a status of 500 or
 * above are logged with their cause.
 */
export function toFailure(error: unknown, log: Logger): Failure {
  const shown = publicError(error);
  if (shown !== error) log.error({ err: error }, "a request failed with an unexpected error");
  else if (shown.status >= 500) log.error({ err: error }, "a request failed");
  return describe(shown);
}

/** Returns what a client may learn of an error: of an internal one, that there was one. */
export function publicError(error: unknown): LoggiaError {
  if (error instanceof LoggiaError && error.code !== "internal_error") return error;
  return new LoggiaError("internal_error", "The service failed to answer; see its log for the reason");
}

/** Addresses of engines and paths of files. Only operators see them, in the log. */
const ADDRESS = / ?(?:at )?(?:\bhttps?:\/\/)?(?:\b[\w.-]+|\[[\da-f:]+\]):\d{1,5}\b\/?/gi;
const FILE = /(?<=^|\s)(?:\/[\w.@+~-]+){2,}\s?/g;

function describe(error: LoggiaError): Failure {
  const { status, code } = error;
  const message = status >= 500 ? error.message.replaceAll(ADDRESS, "").replaceAll(FILE, "") : error.message;
  const headers: Record<string, string> = {};
  if (error.retryAfter_s !== null) headers["Retry-After"] = String(error.retryAfter_s);
  if (status === 401) headers["WWW-Authenticate"] = 'Basic realm="Loggia"';
  const record = { status, code, message };
  return {
    status,
    headers,
    body: { json: jsonPayload({ error: record }), xml: () => ({ root: "error", content: record }) },
  };
}
