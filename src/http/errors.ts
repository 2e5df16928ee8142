import type { Logger } from "pino";

import { LoggiaError } from "../errors.ts";
import { jsonOf } from "./formats.ts";
import type { Body } from "./formats.ts";

/** A failure as an answer: its status, what it says, and the headers that belong to it. */
export type Failure = {
  readonly status: number;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * The answer that tells of `error`. What is not a {@link LoggiaError} is a fault of ours: it is
 * logged in full, and the caller learns no more than that. So is what a {@link LoggiaError} of
 * status 500 or above was caused by.
 */
export function toFailure(error: unknown, log: Logger): Failure {
  if (!(error instanceof LoggiaError)) {
    log.error({ err: error }, "a request failed for a reason that nobody foresaw");
    return describe(new LoggiaError("internal_error", "The service failed to answer; its log holds the reason"));
  }
  if (error.status >= 500) log.error({ err: error }, "a request failed");
  return describe(error);
}

/** Where engines listen, and where their files lie, is for operators, who have it in the log. */
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
    body: { json: jsonOf({ error: record }), xml: () => ({ root: "error", content: record }) },
  };
}
