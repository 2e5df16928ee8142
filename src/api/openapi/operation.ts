import type { z } from "zod";

import type { ErrorCode } from "../../errors.ts";

/** Description of one route, in terms of OpenAPI. */
export type Operation = {
  /** Unique name, which generated clients use. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  /** Accepted callers: anyone, sessions, accounts, accounts or API keys, or only API keys. */
  readonly callers: "anybody" | "sessions" | "people" | "people and keys" | "keys";
  readonly query?: z.ZodObject;
  /** Required fields of `query`. */
  readonly required?: readonly string[];
  readonly form?: z.ZodType;
  readonly json?: z.ZodType;
  /** Schema of a line of `application/x-ndjson`. */
  readonly lines?: z.ZodType;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Possible errors besides {@link COMMON_ERRORS}. */
  readonly errors: readonly ErrorCode[];
};

export type Answer = {
  readonly what: string;
  /** A named schema; absent: the response has no body. */
  readonly schema?: z.ZodType;
  /** Content types of a streamed response. */
  readonly streams?: readonly string[];
  readonly headers?: readonly (keyof typeof HEADERS)[];
};

export const TAGS = {
  logs: "Logs, which contain everything else",
  events: "Events, as they were posted",
  bookmarks: "Events that users have bookmarked",
  alerts: "Events of classes that users want alerts for",
  classes: "Class filters, which classify events",
  query: "Queries in LQL",
  sessions: "Signing in and out with a cookie",
  management: "Accounts, logs and their settings, and operations",
  posting: "The posting address, which accepts events",
  description: "The description of this API",
} as const;
export type Tag = keyof typeof TAGS;

export const HEADERS = {
  Location: "The address of the created record.",
  Link: "The neighbouring pages, as rel=next and rel=prev.",
  "Set-Cookie": "The cookie of the session; when it ends, one that removes it.",
  "X-Total-Count": "How many records all pages have: up to 10,000, or more with `total=exact`.",
  "X-Total-At-Least": "10000, instead of `X-Total-Count`, if there are more records than that.",
  "X-Loggia-Hint":
    "What was probably meant: for an unknown parameter close to a known one, or a class that no event has.",
} as const;

/** Possible errors of every call. */
export const COMMON_ERRORS: readonly ErrorCode[] = [
  "bad_request",
  "bad_parameter",
  "internal_error",
  "overloaded",
  "request_timeout",
  "headers_too_large",
  "method_not_allowed",
  "store_unavailable",
];

/** Possible errors of calls that require credentials. */
export const CALLER_ERRORS: readonly ErrorCode[] = ["unauthorized", "forbidden", "too_many_requests"];

/** Possible errors of calls with a body, which may contain credentials. */
export const BODY_ERRORS: readonly ErrorCode[] = ["bad_body", "body_too_large", "unsupported_media_type"];

/** Returns all possible errors of an operation. */
export function errorsOf(operation: Operation): ReadonlySet<ErrorCode> {
  const callers = operation.callers === "anybody" ? [] : [...CALLER_ERRORS, ...BODY_ERRORS];
  return new Set([...COMMON_ERRORS, ...callers, ...operation.errors]);
}
