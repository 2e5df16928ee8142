import type { ErrorCode } from "../../errors.ts";
import { ACCESS_RULES } from "../../auth/requests/access.ts";
import type { Endpoint } from "../endpoint.ts";

/** Possible errors of every call. */
const COMMON_ERRORS: readonly ErrorCode[] = [
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
const CALLER_ERRORS: readonly ErrorCode[] = ["unauthorized", "forbidden", "too_many_requests"];

/** Possible errors of calls with a body, which may contain credentials. */
const BODY_ERRORS: readonly ErrorCode[] = ["bad_body", "body_too_large", "unsupported_media_type"];

/** Returns all possible errors of an endpoint, in the order of the OpenAPI document. */
export function errorsOfEndpoint({ who, errors = [] }: Pick<Endpoint, "who" | "errors">): ReadonlySet<ErrorCode> {
  const rule = ACCESS_RULES[who];
  const ofCaller = rule.credentials === "none" ? [] : [...CALLER_ERRORS, ...BODY_ERRORS];
  const ofAccess = rule.errors.filter((code) => !errors.includes(code));
  return new Set([...COMMON_ERRORS, ...ofCaller, ...ofAccess, ...errors]);
}
