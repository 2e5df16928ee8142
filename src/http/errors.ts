import { errorStatus, LoggiaError } from "../errors.ts";
import { jsonPayload } from "./formats.ts";
import type { Body } from "./formats.ts";

/** An error as a response: status, body and headers. */
export type Failure = {
  readonly status: number;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Returns the response for `error`. An error that is no {@link LoggiaError} is an internal one, of
 * which the client gets no details.
 */
export function toFailure(error: unknown): Failure {
  return describe(publicError(error));
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
  const { code } = error;
  const status = errorStatus(error);
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
