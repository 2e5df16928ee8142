/**
 * HTTP status of every error that Loggia reports to callers, by code. Codes are part of the wire
 * contract: they may be added, never changed.
 */
export const STATUS_OF_CODE = {
  bad_parameter: 400,
  bad_request: 400,
  bad_body: 400,
  bad_query: 400,
  bad_event: 400,
  bad_user: 400,
  unsupported: 400,
  too_wide: 400,
  unauthorized: 401,
  forbidden: 403,
  path_not_found: 404,
  log_not_found: 404,
  event_not_found: 404,
  bookmark_not_found: 404,
  alert_not_found: 404,
  class_filter_not_found: 404,
  account_not_found: 404,
  api_key_not_found: 404,
  share_not_found: 404,
  saved_query_not_found: 404,
  hook_not_found: 404,
  session_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  log_exists: 409,
  account_exists: 409,
  class_filter_exists: 409,
  saved_query_exists: 409,
  hook_exists: 409,
  conflict: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  too_many_requests: 429,
  headers_too_large: 431,
  internal_error: 500,
  bus_unavailable: 503,
  store_unavailable: 503,
  overloaded: 503,
} as const;

export type ErrorCode = keyof typeof STATUS_OF_CODE;

/** Codes of status 429 and 503. The page imports this list alone, without the table above. */
const TRANSIENT: ReadonlySet<ErrorCode> = new Set([
  "too_many_requests",
  "bus_unavailable",
  "store_unavailable",
  "overloaded",
]);

/**
 * An error whose message may be shown to the caller: it says what is wrong and what would be right.
 * Any other error counts as internal and is logged, never shown.
 */
export class LoggiaError extends Error {
  readonly code: ErrorCode;
  /** How long the caller should wait before it retries; sent as `Retry-After` with 429 and 503. */
  readonly retryAfter_s: number | null;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; retryAfter_s?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "LoggiaError";
    this.code = code;
    this.retryAfter_s = options.retryAfter_s ?? (TRANSIENT.has(code) ? 1 : null);
  }
}

/** Returns the HTTP status of an error. */
export function errorStatus({ code }: LoggiaError): number {
  return STATUS_OF_CODE[code];
}

/** Cancels work whose client has disconnected. */
export class ClientGone extends LoggiaError {
  constructor() {
    super("bad_request", "The client disconnected before it was answered");
  }
}

/**
 * An append to the bus that missed its deadline. Its records may still become durable, so a retry may store
 * them twice.
 */
export class LateAppend extends LoggiaError {
  /**
   * Resolves once the bus makes no further attempt: whether the records are durable, as far as the
   * bus knows. Never rejects.
   */
  readonly isStored: Promise<boolean>;
  /** Keys of which no record was sent, nor will be. Records of a key are sent in order. */
  readonly unsent: ReadonlySet<string>;

  constructor(message: string, options: { isStored: Promise<boolean>; unsent?: ReadonlySet<string>; cause?: unknown }) {
    super("bus_unavailable", message, { cause: options.cause });
    this.isStored = options.isStored;
    this.unsent = options.unsent ?? new Set();
  }
}

/**
 * A setting, port, folder or engine that prevents startup: one line for the operator, exit code 1.
 */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StartError";
  }
}

const UNTRUSTED = /self-signed certificate|unable to (?:get|verify)[a-z ]{0,40} certificate/;
const OTHER_NAMES = /does not match certificate's altnames/;

/**
 * Returns what is wrong with a server's certificate, or null if `reason`, an error message of Node
 * or a client, does not say so. The message is used because clients keep it and drop the code.
 * @param setting names the variable that lists the trusted authorities
 */
export function certificateFault(reason: string, setting: string): string | null {
  const refused = "its certificate was refused:";
  if (UNTRUSTED.test(reason)) return `${refused} its issuer is not trusted; add it to ${setting}`;
  if (OTHER_NAMES.test(reason)) return `${refused} it was issued for another name than this address`;
  if (reason.includes("certificate has expired")) return `${refused} it has expired`;
  return null;
}
